// A chart of amounts over time, and a table with the same data. Colours come from the style sheet, so the
// chart is redrawn when the scheme changes.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { Time } from './columns.tsx'
import { type PlainColumn, Table } from './table.tsx'

interface Series {
  readonly name: string
  /** Values, one for each time; null leaves a gap. */
  readonly values: readonly (number | null)[]
}

interface Props {
  readonly label: string
  /** Times, ms since the epoch, oldest first. */
  readonly times: readonly number[]
  /** Series, stacked with the first at the bottom. */
  readonly series: readonly Series[]
  readonly show: (value: number) => string
  readonly kind?: 'bars' | 'line'
  readonly height?: 120 | 160 | 200
  /** True if the values are running sums, so that the last one is the total. */
  readonly isSum?: boolean
}

/** Colours that differ in lightness as well as in hue. */
const COLOURS = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6']

const scheme = matchMedia('(prefers-color-scheme: dark)')

export function Chart({ label, times, series, show, kind = 'bars', height = 160, isSum = false }: Props) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current!
    if (times.length === 0) return
    let plot: uPlot | null = null
    const draw = () => {
      plot?.destroy()
      plot = new uPlot(
        optionsOf(element, times, series, show, kind, height),
        [times.map((at) => at / 1_000), ...stacked(series)] as uPlot.AlignedData,
        element,
      )
    }
    draw()
    const resize = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height }))
    resize.observe(element)
    scheme.addEventListener('change', draw)
    return () => {
      resize.disconnect()
      scheme.removeEventListener('change', draw)
      plot?.destroy()
    }
  }, [times, series, kind])
  const total = (values: Series['values']) =>
    show(isSum ? (values.at(-1) ?? 0) : values.reduce<number>((sum, value) => sum + (value ?? 0), 0))
  const words = series.map(({ name, values }) => `${name} ${total(values)}`).join(', ')
  return (
    <figure class="chart">
      {series.length > 1 && (
        <figcaption class="legend">
          {series.map(({ name }, index) => (
            <span key={name} class={`key c${(index % COLOURS.length) + 1}`}>
              {name}
            </span>
          ))}
        </figcaption>
      )}
      <div ref={place} role="img" aria-label={`${label}: ${words}`} class={`plot h${height}`} />
      <details class="as-table">
        <summary>As a table</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
        <div class="scroll" tabIndex={0} role="group" aria-label={label}>
          <Table
            rows={times.map((_, index) => index)}
            columns={columnsOf(times, series, show)}
            keyOf={String}
          />
        </div>
      </details>
    </figure>
  )
}

const columnsOf = (
  times: Props['times'],
  series: readonly Series[],
  show: Props['show'],
): readonly PlainColumn<number>[] => [
  { title: 'time', cell: (index) => <Time iso={new Date(times[index]!).toISOString()} /> },
  ...series.map(({ name, values }) => ({
    title: name,
    isNumber: true,
    cell: (index: number) => (values[index] == null ? null : show(values[index])),
  })),
]

/**
 * Returns each series added to the sum of the series below it. The series are drawn from top to bottom, so
 * that lower series cover higher ones.
 */
function stacked(series: readonly Series[]): (number | null)[][] {
  const sums = new Array<number>(series[0]?.values.length ?? 0).fill(0)
  return series
    .map(({ values }) =>
      values.map((value, index) => {
        sums[index]! += value ?? 0
        return value === null ? null : sums[index]!
      }),
    )
    .reverse()
}

function optionsOf(
  element: HTMLElement,
  times: Props['times'],
  series: readonly Series[],
  show: Props['show'],
  kind: 'bars' | 'line',
  height: number,
): uPlot.Options {
  // Reads the current colour from the style sheet, because a canvas supports neither CSS variables nor
  // schemes.
  const colour = (name: string): string => {
    element.style.color = `var(${name})`
    return getComputedStyle(element).color
  }
  const paths = kind === 'bars' ? uPlot.paths.bars!({ size: [0.75, 40] }) : uPlot.paths.stepped!({ align: 1 })
  const half = kind === 'bars' && times.length > 1 ? (times[1]! - times[0]!) / 2_000 : 0
  // A single time gets half an hour on both sides, and only its own label; uPlot would show years after it.
  const [only] = times.length === 1 ? times : []
  const axis = { stroke: colour('--faint'), font: '12px system-ui, sans-serif', ticks: { show: false } }
  return {
    width: element.clientWidth,
    height,
    padding: [10, 28, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      // Half a bar is added on both sides; otherwise the first and last bars would be cut.
      x: {
        range: (_, least, most) =>
          only ? [only / 1_000 - 1_800, only / 1_000 + 1_800] : [least - half, most + half],
      },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        ...(only && { splits: () => [only / 1_000] }),
        // A second line has the hour or the day.
        size: (_, labels) => (labels?.some((label) => label?.includes('\n')) ? 40 : 26),
        space: 76,
        values: [
          [86_400, '{D} {MMM}', null, null, null, null, null, null, 1],
          [3_600, '{HH}:{mm}', '\n{D} {MMM}', null, null, null, null, null, 1],
          [60, '{HH}:{mm}', null, null, null, null, null, null, 1],
          [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 1],
        ],
      },
      {
        ...axis,
        grid: { stroke: colour('--line'), width: 1 },
        size: 62,
        values: (_, values) => values.map((value) => show(value)),
      },
    ],
    series: [
      {},
      ...series.toReversed().map((_, index) => {
        const c = colour(COLOURS[(series.length - 1 - index) % COLOURS.length]!)
        return { stroke: c, fill: c, width: kind === 'bars' ? 0 : 1, paths, points: { show: false } }
      }),
    ],
  }
}
