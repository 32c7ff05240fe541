// Filter of the scoreboard. The URL stores the choice after the `#`, so that a view of the table can be linked.
const form = document.querySelector('.filters')
const rows = [...document.querySelectorAll('.matrix tbody tr')]
const boxes = [...form.querySelectorAll('[name=gateway]')]

function show() {
  const chosen = new FormData(form)
  const find = chosen.get('find').trim().toLowerCase().split(/\s+/)
  for (const row of rows)
    row.hidden =
      ['dialect', 'family', 'level'].some(
        (name) => chosen.get(name) && chosen.get(name) !== row.dataset[name],
      ) ||
      !find.every((word) => row.firstElementChild.textContent.toLowerCase().includes(word)) ||
      (chosen.has('bad') &&
        !row.querySelector('td:not([hidden]) :is(.fail, .warn, .untestable, .harness-error)'))
  const count = rows.filter(({ hidden }) => !hidden).length
  form.querySelector('[role=status]').textContent =
    count === rows.length ? '' : `${count} of ${rows.length} requirements`
}

function showGateways() {
  for (const { value, checked } of boxes)
    for (const cell of document.querySelectorAll(`.matrix [data-gateway="${value}"]`)) cell.hidden = !checked
}

/** Parts of the choice that differ from the defaults. */
function write() {
  const chosen = new URLSearchParams()
  for (const name of ['find', 'dialect', 'family', 'level'])
    if (form.elements[name].value) chosen.set(name, form.elements[name].value)
  if (form.elements.bad.checked) chosen.set('bad', '1')
  const without = boxes.filter(({ checked }) => !checked).map(({ value }) => value)
  if (without.length > 0) chosen.set('without', without.join())
  history.replaceState(null, '', `#${chosen}`)
}

function read() {
  if (!location.hash.includes('=')) return
  const chosen = new URLSearchParams(location.hash.slice(1))
  for (const name of ['find', 'dialect', 'family', 'level'])
    form.elements[name].value = chosen.get(name) ?? ''
  form.elements.bad.checked = chosen.has('bad')
  const without = chosen.get('without')?.split(',') ?? []
  for (const box of boxes) box.checked = !without.includes(box.value)
}

function apply() {
  showGateways()
  show()
}

form.hidden = false
form.addEventListener('submit', (event) => event.preventDefault())
form.addEventListener('input', () => {
  write()
  apply()
})
form.addEventListener('reset', () =>
  setTimeout(() => {
    write()
    apply()
  }),
)
addEventListener('hashchange', () => {
  read()
  apply()
})
read()
apply()
