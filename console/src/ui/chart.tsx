import { useId, useState } from 'react'

/** One bar: a label for its place, and a value for each series. */
export interface Bar {
  readonly label: string
  readonly values: Readonly<Record<string, number>>
}

const WIDTH = 720
const HEIGHT = 220
const LABELS_MAX = 6
/** Distinguishable also without colour vision; the table below says it in words. */
const palette = ['#2f7d68', '#c9822b', '#5b6fc0', '#a8476f', '#6c8a2f', '#7a7f86', '#3f97b5', '#b0563b']

/** Stacked bars with their numbers as a table, which is what screen readers get. */
export function StackedBars({
  title,
  bars,
  series,
  format,
}: {
  title: string
  bars: readonly Bar[]
  series: readonly string[]
  format: (value: number) => string
}) {
  const [asTable, setAsTable] = useState(false)
  const id = useId()
  const totals = bars.map((bar) => series.reduce((sum, name) => sum + (bar.values[name] ?? 0), 0))
  const highest = Math.max(...totals, 0)
  const step = WIDTH / Math.max(bars.length, 1)
  const every = Math.ceil(bars.length / LABELS_MAX)
  return (
    <figure className="chart" aria-labelledby={id}>
      <div className="row-between">
        <figcaption id={id} className="small quiet">
          {title}
        </figcaption>
        <button
          type="button"
          className="button"
          data-size="small"
          aria-pressed={asTable}
          onClick={() => setAsTable(!asTable)}
        >
          {asTable ? 'Show as chart' : 'Show as table'}
        </button>
      </div>
      <div hidden={asTable} className="stack-tight">
        <span className="quiet small" aria-hidden="true">
          {format(highest)}
        </span>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
          {[0.5, HEIGHT - 0.5].map((y) => (
            <line key={y} x1="0" x2={WIDTH} y1={y} y2={y} stroke="var(--line)" vectorEffect="non-scaling-stroke" />
          ))}
          {bars.map((bar, n) => (
            <Stack key={bar.label} bar={bar} series={series} place={n * step} width={step} highest={highest}>
              {`${bar.label}: ${format(totals[n] ?? 0)}`}
            </Stack>
          ))}
        </svg>
        <div
          className="axis"
          aria-hidden="true"
          style={{ gridTemplateColumns: `repeat(${bars.length}, minmax(0, 1fr))` }}
        >
          {bars.map(({ label }, n) => (
            <span key={label}>{n % every === 0 ? label : null}</span>
          ))}
        </div>
        <ul className="legend">
          {series.map((name, s) => (
            <li key={name}>
              <i style={{ background: palette[s % palette.length] }} />
              {name}
            </li>
          ))}
        </ul>
      </div>
      <div className={asTable ? 'table-scroll' : 'visually-hidden'}>
        <table>
          <caption className="visually-hidden">{title}</caption>
          <thead>
            <tr>
              <th scope="col">Day</th>
              {series.map((name) => (
                <th scope="col" key={name} className="number">
                  {name}
                </th>
              ))}
              <th scope="col" className="number">
                Total
              </th>
            </tr>
          </thead>
          <tbody>
            {bars.map((bar, n) => (
              <tr key={bar.label}>
                <th scope="row">{bar.label}</th>
                {series.map((name) => (
                  <td key={name} className="number">
                    {format(bar.values[name] ?? 0)}
                  </td>
                ))}
                <td className="number">{format(totals[n] ?? 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

/** One bar, each series on top of the one before. */
function Stack({
  bar,
  series,
  place,
  width,
  highest,
  children,
}: {
  bar: Bar
  series: readonly string[]
  place: number
  width: number
  highest: number
  children: string
}) {
  let top = HEIGHT
  return (
    <g>
      <title>{children}</title>
      {series.map((name, s) => {
        const height = highest === 0 ? 0 : ((bar.values[name] ?? 0) / highest) * HEIGHT
        top -= height
        return (
          <rect
            key={name}
            x={place + width * 0.15}
            width={width * 0.7}
            y={top}
            height={height}
            fill={palette[s % palette.length]}
          />
        )
      })}
    </g>
  )
}
