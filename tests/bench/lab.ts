/** What the works are done with: each thing made when the first work asks for it, and closed at the end. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bundles, makeBundles } from './bundles.ts'
import { openFeed } from './feed.ts'
import { type FirstRequests, openFirstRequests } from './first_request.ts'
import { openStage, type Stage } from './stage.ts'

/** What is compared with, where this checkout has it beside it. */
export const SHARED: string = join(import.meta.dirname, '../../../shared')

/** How many objects the feed has. */
export const FED = 10_000

export interface Lab {
  /** The runtimes that are measured. */
  readonly runtimes: readonly string[]
  /** Another checkout, whose works are run as well. */
  readonly beside: string | undefined
  stage(): Promise<Stage>
  /** A file with `{ server, token, ca }` of the feed. */
  feedFile(): Promise<string>
  bundles(): Promise<Bundles>
  firstRequests(): Promise<FirstRequests>
  /** Controller-runtime's program; undefined where there is no Go, or no program to build. */
  peer(): string | undefined
  /** The Go queues under mixed priorities, likewise. */
  goQueues(): string | undefined
  close(): Promise<void>
}

export function openLab(runtimes: readonly string[], beside?: string): Lab {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-bench-'))
  const closers: (() => Promise<void>)[] = []
  const made = async <T extends { close(): Promise<void> }>(making: Promise<T>): Promise<T> => {
    const thing = await making
    closers.push(() => thing.close())
    return thing
  }
  const bundles = once(() => makeBundles(folder))
  return {
    runtimes,
    beside,
    bundles,
    stage: once(() => made(openStage())),
    feedFile: once(async () => {
      const { server, ca } = await made(openFeed(FED))
      const path = join(folder, 'feed.json')
      writeFileSync(path, JSON.stringify({ server, ca, token: 'bench' }))
      return path
    }),
    firstRequests: once(async () => made(openFirstRequests((await bundles()).serviceAccount))),
    peer: once(() => {
      const script = join(SHARED, 'peerbench/build.sh')
      if (!existsSync(script) || !hasGo()) return without('controller-runtime is')
      return execFileSync('bash', [script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
    }),
    goQueues: once(() => {
      if (!hasGo()) return without('the Go queues are')
      const program = join(folder, 'queue_go')
      execFileSync('go', ['build', '-o', program, '.'], {
        cwd: join(import.meta.dirname, 'queue_go'),
        stdio: 'inherit',
      })
      return program
    }),
    async close() {
      for (const close of closers.reverse()) await close()
      rmSync(folder, { recursive: true })
    },
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

function hasGo(): boolean {
  return spawnSync('go', ['version']).error === undefined
}

function without(what: string): undefined {
  console.log(`Go or the program to compare with is not here: ${what} left out`)
}
