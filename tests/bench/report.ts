/** Collects the figures of many rounds, and formats them as a table and as JSON lines. */
import type { Derived } from './works.ts'

export interface Series {
  readonly work: string
  readonly subject: string
  readonly runtime: string
  readonly unit: string
  /** Number of objects or keys. */
  readonly n: number
}

interface Rounds {
  readonly of: Series
  /** One value per round, in order. */
  readonly values: number[]
}

export class Report {
  readonly #series = new Map<string, Rounds>()

  note(of: Series, value: number): void {
    if (!Number.isFinite(value)) {
      throw new TypeError(`Cannot report ${of.work} of ${of.subject} on ${of.runtime}: it is ${value}`)
    }
    const id = idOf(of)
    const series = this.#series.get(id) ?? { of, values: [] }
    this.#series.set(id, series)
    series.values.push(value)
  }

  /** Adds a figure computed from two others, for each runtime and round that has both. */
  derive({ name, subject, unit, from: [first, second], combine }: Derived): void {
    for (const { of, values } of [...this.#series.values()]) {
      if (of.work !== first.figure || of.subject !== first.subject) continue
      const others = this.#series.get(idOf({ ...of, work: second.figure, subject: second.subject }))
      for (const [round, value] of values.slice(0, others?.values.length ?? 0).entries()) {
        const [n, otherN] = [of.n, others!.of.n]
        this.note({ ...of, work: name, subject, unit, n: otherN }, combine(value, others!.values[round]!, n, otherN))
      }
    }
  }

  /** Returns a Markdown table. `own`: the subject whose ratios to the others are shown, on the first runtime. */
  table(own: string): string {
    const rows = [...this.#series.values()].map(({ of, values }) => {
      const [median, min, max] = spread(values)
      const ours = this.#median({ ...of, subject: own }, of.runtime) ?? this.#median({ ...of, subject: own })
      const ratio = of.subject === own || ours === undefined ? '' : `${(ours / median).toFixed(2)} ×`
      const shown = [`${show(median)} ${of.unit}`, `${show(min)} … ${show(max)}`, String(values.length), ratio]
      return [of.work, of.n.toLocaleString('en'), of.subject, of.runtime, ...shown]
    })
    const head = ['work', 'n', 'subject', 'runtime', 'median', 'spread', 'rounds', `${own} is … of it`]
    return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  }

  lines(): string {
    return [...this.#series.values()].map(({ of: { work, runtime, subject, n, unit }, values }) => {
      const [median, min, max] = spread(values)
      return `${JSON.stringify({ work, runtime, subject, n, median, min, max, unit })}\n`
    }).join('')
  }

  #median({ work, subject }: Pick<Series, 'work' | 'subject'>, runtime?: string): number | undefined {
    for (const { of, values } of this.#series.values()) {
      if (of.work === work && of.subject === subject && (runtime === undefined || of.runtime === runtime)) {
        return spread(values)[0]
      }
    }
    return undefined
  }
}

function idOf({ work, subject, runtime }: Pick<Series, 'work' | 'subject' | 'runtime'>): string {
  return `${work} ${subject} ${runtime}`
}

function spread(values: readonly number[]): [median: number, min: number, max: number] {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
  return [median, sorted[0]!, sorted.at(-1)!]
}

function show(value: number): string {
  const size = Math.abs(value)
  return size >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(size >= 10 ? 1 : 2)
}
