/** Figures of many rounds, as a table and as JSON lines. */

export interface Series {
  readonly work: string
  readonly subject: string
  readonly runtime: string
  readonly unit: string
}

export class Report {
  readonly #series = new Map<string, { readonly of: Series; readonly values: number[] }>()

  note(of: Series, value: number): void {
    if (!Number.isFinite(value)) throw new TypeError(`Cannot report ${of.work} of ${of.subject} on ${of.runtime}: it is ${value}`)
    const id = `${of.work} ${of.subject} ${of.runtime}`
    const series = this.#series.get(id) ?? { of, values: [] }
    this.#series.set(id, series)
    series.values.push(value)
  }

  /** Markdown. `own`: whose ratio to each of the others is shown, on the first runtime. */
  table(own: string): string {
    const rows = [...this.#series.values()].map(({ of, values }) => {
      const [median, min, max] = spread(values)
      const ours = this.#median({ ...of, subject: own }, of.runtime) ?? this.#median({ ...of, subject: own })
      const ratio = of.subject === own || ours === undefined ? '' : `${(ours / median).toFixed(2)} ×`
      return [of.work, of.subject, of.runtime, `${show(median)} ${of.unit}`, `${show(min)} … ${show(max)}`, String(values.length), ratio]
    })
    const head = ['work', 'subject', 'runtime', 'median', 'spread', 'rounds', `${own} is … of it`]
    return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  }

  /** One line a series. */
  lines(n: number): string {
    return [...this.#series.values()].map(({ of, values }) => {
      const [median, min, max] = spread(values)
      return `${JSON.stringify({ work: of.work, runtime: of.runtime, subject: of.subject, n, median, min, max, unit: of.unit })}\n`
    }).join('')
  }

  #median({ work, subject }: Pick<Series, 'work' | 'subject'>, runtime?: string): number | undefined {
    for (const { of, values } of this.#series.values()) {
      if (of.work === work && of.subject === subject && (runtime === undefined || of.runtime === runtime)) return spread(values)[0]
    }
    return undefined
  }
}

function spread(values: readonly number[]): [median: number, min: number, max: number] {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
  return [median, sorted[0]!, sorted.at(-1)!]
}

function show(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(value >= 10 ? 1 : 2)
}
