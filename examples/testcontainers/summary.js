// The application: a text in one sentence, by whichever model the gateway picks. It knows an OpenAI client and the
// name `auto`; that a gateway stands behind it, and which providers stand behind that, it does not know.

/** @param {import('openai').OpenAI} client */
export async function summarize(client, text) {
  const { choices } = await client.chat.completions.create({
    model: 'auto',
    messages: [{ role: 'user', content: `In one sentence: ${text}` }],
  })
  return choices[0].message.content.trim()
}
