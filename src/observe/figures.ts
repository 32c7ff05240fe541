// Metrics that are counted on every call and formatted for Prometheus only when read, which is rare.
// Covers only the format (text/plain; version=0.0.4); what the metrics mean is defined elsewhere.

/** Labels as written between the braces; empty if there are none. */
export type Labels = string

/** Formats labels from alternating names and values. */
export function labels(...pairs: readonly string[]): Labels {
  let text = ''
  for (let index = 0; index < pairs.length; index += 2)
    text += `${text && ','}${pairs[index]}="${pairs[index + 1]!.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`))}"`
  return text
}

/**
 * Returns a function that adds a label to other labels. Each text is built only once, because rebuilding and
 * hashing took most of the time of counting. Only for the few values from the configuration or the gateway
 * itself.
 */
export function joined(name: string): (labels: Labels, value: string) => Labels {
  const made = new Map<Labels, Map<string, Labels>>()
  return (before, value) => {
    let further = made.get(before)
    if (!further) {
      further = new Map()
      made.set(before, further)
    }
    let text = further.get(value)
    if (text === undefined) {
      text = `${before},${labels(name, value)}`
      further.set(value, text)
    }
    return text
  }
}

interface Figure {
  /** Returns the lines of the metric, without the last line end. */
  render(): string
}

const head = (name: string, help: string, type: string): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${type}`

const sample = (name: string, labels: Labels, value: number): string =>
  `${name}${labels && `{${labels}}`} ${value}`

export class Counter implements Figure {
  readonly #name: string
  readonly #help: string
  readonly #shown: (value: number) => number
  readonly #values = new Map<Labels, number>()

  /**
   * `plain`: true for a metric without labels, which exists from the start. `shown`: converts a sum for the
   * output.
   */
  constructor(name: string, help: string, { plain = false, shown = (value: number) => value } = {}) {
    this.#name = name
    this.#help = help
    this.#shown = shown
    if (plain) this.#values.set('', 0)
  }

  add(labels: Labels, by = 1): void {
    this.#values.set(labels, (this.#values.get(labels) ?? 0) + by)
  }

  render(): string {
    const lines = [...this.#values].map(([labels, value]) => sample(this.#name, labels, this.#shown(value)))
    return [head(this.#name, this.#help, 'counter'), ...lines].join('\n')
  }
}

/** A metric that is computed when the metrics are read. */
export class Gauge implements Figure {
  readonly #name: string
  readonly #help: string
  readonly #values: () => Iterable<readonly [Labels, number]>

  constructor(name: string, help: string, values: () => Iterable<readonly [Labels, number]>) {
    this.#name = name
    this.#help = help
    this.#values = values
  }

  render(): string {
    const lines = [...this.#values()].map(([labels, value]) => sample(this.#name, labels, value))
    return [head(this.#name, this.#help, 'gauge'), ...lines].join('\n')
  }
}

interface Distribution {
  /** Number of values in each bucket, excluding those of smaller buckets. */
  readonly counts: number[]
  sum: number
}

export class Histogram implements Figure {
  readonly #name: string
  readonly #help: string
  readonly #bounds: readonly number[]
  readonly #values = new Map<Labels, Distribution>()

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name
    this.#help = help
    this.#bounds = bounds
  }

  observe(labels: Labels, value: number): void {
    let found = this.#values.get(labels)
    if (!found) {
      found = { counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 }
      this.#values.set(labels, found)
    }
    let bucket = 0
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++
    found.counts[bucket]!++
    found.sum += value
  }

  render(): string {
    const lines = [head(this.#name, this.#help, 'histogram')]
    for (const [labels, { counts, sum }] of this.#values) {
      let count = 0
      for (const [index, inBucket] of counts.entries()) {
        count += inBucket
        const bound = `le="${this.#bounds[index] ?? '+Inf'}"`
        lines.push(sample(`${this.#name}_bucket`, labels ? `${bound},${labels}` : bound, count))
      }
      lines.push(sample(`${this.#name}_sum`, labels, sum), sample(`${this.#name}_count`, labels, count))
    }
    return lines.join('\n')
  }
}

/** Formats all given metrics as text. */
export const render = (figures: readonly Figure[]): string =>
  `${figures.map((figure) => figure.render()).join('\n\n')}\n`
