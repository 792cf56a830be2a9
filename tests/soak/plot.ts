/** Draws samples as SVG: a chart for each measure, a line for each runtime. */
import { MEASURES, NAMES, type Sample } from './trend.ts'

const [WIDTH, HEIGHT, LEFT, GAP] = [640, 110, 80, 34]
const COLORS: Readonly<Record<string, string>> = { node: '#3c873a', bun: '#d0567f', deno: '#3b82c4' }

export function plot(runs: Readonly<Record<string, readonly Sample[]>>): string {
  const runtimes = Object.keys(runs)
  const height = NAMES.length * (HEIGHT + GAP) + GAP
  const lastEvents = Math.max(...Object.values(runs).flat().map(({ events }) => events))
  const charts = NAMES.map((name, i) => {
    const top = GAP + i * (HEIGHT + GAP)
    const max = Math.max(1, ...Object.values(runs).flat().map((sample) => sample[name])) * 1.1
    const lines = runtimes.map((runtime) => {
      const points = runs[runtime]!.map((sample) => {
        const x = LEFT + sample.events / lastEvents * WIDTH
        return `${x.toFixed(1)},${(top + HEIGHT - sample[name] / max * HEIGHT).toFixed(1)}`
      })
      return `<polyline fill="none" stroke="${COLORS[runtime]}" stroke-width="1.5" points="${points.join(' ')}"/>`
    })
    const label = (y: number, text: string): string => `<text x="${LEFT - 6}" y="${y}" text-anchor="end">${text}</text>`
    return [
      `<text x="${LEFT}" y="${top - 6}">${name}${MEASURES[name][0] && `, ${MEASURES[name][0]}`}</text>`,
      `<rect x="${LEFT}" y="${top}" width="${WIDTH}" height="${HEIGHT}" fill="none" stroke="#888" stroke-width="0.5"/>`,
      label(top + 10, max.toFixed(0)),
      label(top + HEIGHT, '0'),
      ...lines,
    ].join('\n')
  })
  const names = runtimes.map((name, i) =>
    `<text x="${LEFT + WIDTH - 60 * (runtimes.length - i)}" y="14" style="fill:${COLORS[name]}">${name}</text>`
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${
    LEFT + WIDTH + 20
  } ${height}" font-family="sans-serif" font-size="11">
<style>text{fill:#333}@media(prefers-color-scheme:dark){text{fill:#ccc}}</style>
${[...charts, ...names].join('\n')}
<text x="${LEFT + WIDTH}" y="${height - 18}" text-anchor="end">${lastEvents} events</text>
</svg>
`
}
