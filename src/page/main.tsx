// Entry point of the page. Signs in with the code in the address, if there is one, and draws the page.
import './style.css'
import { render } from 'preact'
import { fetchRead } from './api.ts'
import { App } from './app.tsx'
import { signInTrouble } from './sign-in.tsx'
import { redeemCode, type Who, who } from './who.ts'

async function begin(): Promise<void> {
  await redeemCode().catch((error: Error) => {
    signInTrouble.value = error.message
  })
  // Waits for the answer, so that a reader without a key sees one 401 on the console, and not one for each list.
  await fetchRead<Who>('/api/keys/me').then(
    ({ name, role }) => {
      who.value = { name, role }
    },
    () => {}, // the sign-in form reports it
  )
  render(<App />, document.getElementById('page')!)
}

void begin()
