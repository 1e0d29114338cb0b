import { useId, useState } from 'react'

/** One bar: a label for its place, and a value for each series. */
export interface Bar {
  readonly label: string
  readonly values: Readonly<Record<string, number>>
}

const WIDTH = 720
const HEIGHT = 220
const FOOT = 24
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
  const highest = Math.max(...totals, 1)
  const step = WIDTH / Math.max(bars.length, 1)
  const every = Math.ceil(bars.length / 8)
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
      <div hidden={asTable}>
        <svg viewBox={`-18 0 ${WIDTH + 36} ${HEIGHT + FOOT}`} aria-hidden="true" focusable="false">
          <line x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} stroke="var(--line-strong)" />
          {bars.map((bar, n) => {
            let top = HEIGHT
            return (
              <g key={bar.label}>
                <title>{`${bar.label}: ${format(totals[n] ?? 0)}`}</title>
                {series.map((name, s) => {
                  const height = ((bar.values[name] ?? 0) / highest) * (HEIGHT - 10)
                  top -= height
                  return (
                    <rect
                      key={name}
                      x={n * step + step * 0.15}
                      width={step * 0.7}
                      y={top}
                      height={height}
                      fill={palette[s % palette.length]}
                    />
                  )
                })}
                {n % every === 0 ? (
                  <text
                    x={n * step + step / 2}
                    y={HEIGHT + 17}
                    textAnchor="middle"
                    fontSize="12"
                    fill="var(--text-quiet)"
                  >
                    {bar.label}
                  </text>
                ) : null}
              </g>
            )
          })}
        </svg>
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
