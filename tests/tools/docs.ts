/** Reads the code and the command lines of README and docs, and the TypeScript of doc comments. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readTree, ROOT } from './tree.ts'

export interface DocsBlock {
  /** The page and line: `docs/client.md:20`. */
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

export function typescriptBlocks(): readonly DocsBlock[] {
  return codeBlocks('ts')
}

/** Returns the code blocks of every page, or those in one language. */
export function codeBlocks(
  only?: string,
): readonly (DocsBlock & { readonly page: string; readonly language: string })[] {
  return PAGES.flatMap((page) => {
    const whole = pageText(page)
    return [...whole.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(({ 1: language, 2: text, index }) => ({
      name: `${page}:${whole.slice(0, index).split('\n').length}`,
      page,
      language: language!,
      text: text!,
    }))
  }).filter(({ language }) => only === undefined || language === only)
}

/** Returns the command lines of the shell blocks of every page, without comments. */
export function shellCommands(): readonly DocsCommand[] {
  return codeBlocks('sh').flatMap(({ page, text }) =>
    text.replaceAll(/\\\n\s*/g, '').split('\n').map((line) => line.replace(/(?:^|\s+)#.*$/, '')).filter((line) =>
      line !== ''
    )
      .map((line) => ({ page, line }))
  )
}

export interface DocsCommand {
  readonly page: string
  readonly line: string
}

/** Replaces the import of the operator's file for a file in the folder of the examples. */
export function besideExamples(text: string): string {
  return text.replaceAll("'./operator.ts'", "'./1_sample_controller.ts'")
}

/** Files whose examples show what is not exported. */
const INTERNAL: ReadonlySet<string> = new Set(['lib/runtime/net/certificates.ts'])

/** Returns the examples of doc comments in lib. The name is the file and a number: `core/object_indexer.ts 1`. */
export function docComments(): readonly { readonly name: string; readonly path: string; readonly text: string }[] {
  return [...readTree(['lib'], /\.ts$/)].filter(([path]) => !INTERNAL.has(path)).flatMap(([path, source]) => {
    const examples = [...source.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)\n\s*\* ```/g)].map(([, lines]) =>
      lines!.replace(/^\s*\* ?/gm, '')
    )
    return examples.map((text, i) => ({ name: `${path.replace('lib/', '')} ${i + 1}`, path, text }))
  })
}
