// The application under test.
exports.ask = async function ask(mock, content, model = 'gpt-6-luna') {
  const response = await fetch(`${mock.baseUrl()}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${mock.key()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  })
  if (!response.ok) throw new Error(`the provider answered ${response.status}`)
  return (await response.json()).choices[0].message.content
}
