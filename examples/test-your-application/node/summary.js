// The application: summarizes a text in one sentence. It knows an address, a key and a model, but not the test.
export async function summarize(text, { url, key, model }) {
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: `In one sentence: ${text}` }] }),
  })
  if (response.status === 429) throw new Error('the provider is busy; try again later')
  if (!response.ok) throw new Error(`the provider answered ${response.status}`)
  const { choices } = await response.json()
  return choices[0].message.content
}
