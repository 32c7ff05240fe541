// The application: summarizes a text in one sentence with the model that the gateway picks. It uses an OpenAI client
// and the name `auto`. It does not know the gateway or the providers behind this client.

/** @param {import('openai').OpenAI} client */
export async function summarize(client, text) {
  const { choices } = await client.chat.completions.create({
    model: 'auto',
    messages: [{ role: 'user', content: `In one sentence: ${text}` }],
  })
  return choices[0].message.content.trim()
}
