/** What README and docs show, as their readers would paste it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readTree, ROOT } from './tree.ts'

export interface DocsBlock {
  /** Its page and place: `docs/client.md:20`. */
  readonly name: string
  readonly text: string
}

/** README.md and the pages of docs/. */
export const PAGES: readonly string[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md')).sort().map((name) => `docs/${name}`),
]

export function pageText(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}

/** The blocks of TypeScript of every page. */
export function typescriptBlocks(): readonly DocsBlock[] {
  return PAGES.flatMap((page) => {
    const whole = pageText(page)
    return [...whole.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(({ 1: text, index }) => ({
      name: `${page}:${whole.slice(0, index).split('\n').length}`,
      text: text!,
    }))
  })
}

/** Text that imports the operator's file, for a file in the folder of the examples. */
export function besideExamples(text: string): string {
  return text.replaceAll("'./operator.ts'", "'./1_sample_controller.ts'")
}

/** What they show is not exported, so that an example cannot import it. */
const INTERNAL: ReadonlySet<string> = new Set(['lib/runtime/net/certificates.ts'])

/** The examples of the doc comments in lib, without the comment's margin; the name is the file and the place: `core/index.ts 1`. */
export function docComments(): readonly { readonly name: string; readonly path: string; readonly text: string }[] {
  return [...readTree(['lib'], /\.ts$/)].filter(([path]) => !INTERNAL.has(path)).flatMap(([path, source]) => {
    const examples = [...source.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)\n\s*\* ```/g)].map(([, lines]) =>
      lines!.replace(/^\s*\* ?/gm, '')
    )
    return examples.map((text, i) => ({ name: `${path.replace('lib/', '')} ${i + 1}`, path, text }))
  })
}
