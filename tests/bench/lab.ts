/** The resources of the works: each is created on first use and closed at the end. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApiServers } from './apiserver.ts'
import { makeBundles } from './bundles.ts'
import { openFeed } from './feed.ts'
import { openFirstRequests } from './first_request.ts'
import { openStage } from './stage.ts'
import { hasRealServer, openWebhookStage } from './webhooks.ts'

/** The programs to compare with, if they exist beside this checkout. */
export const SHARED: string = join(import.meta.dirname, '../../../shared')

export const FEED_OBJECTS = 10_000

export type Lab = ReturnType<typeof openLab>

export function openLab(runtimes: readonly string[], beside?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-bench-'))
  const closers: (() => Promise<void>)[] = []
  const made = async <T extends { close(): Promise<void> }>(making: Promise<T>): Promise<T> => {
    const thing = await making
    closers.push(() => thing.close())
    return thing
  }
  const bundles = once(() => makeBundles(folder))
  const stage = once(() => made(openStage()))
  return {
    runtimes,
    beside,
    bundles,
    stage,
    /** A file with `{ server, token, ca }` of the feed. */
    feedFile: once(async () => {
      const { server, ca } = await made(openFeed(FEED_OBJECTS))
      const path = join(folder, 'feed.json')
      writeFileSync(path, JSON.stringify({ server, ca, token: 'bench' }))
      return path
    }),
    apiServers: once(async () => made(Promise.resolve(openApiServers()))),
    firstRequests: once(async () => made(openFirstRequests((await bundles()).serviceAccount))),
    /** Returns the path of controller-runtime's program. Undefined without Go or the program's source. */
    peer: once(() => {
      const script = join(SHARED, 'peerbench/build.sh')
      if (!existsSync(script) || !hasGo()) return skipped('controller-runtime')
      return execFileSync('bash', [script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
    }),
    /** Returns the path of controller-runtime's webhook server. Undefined without Go. */
    goWebhooks: once(() => {
      if (!hasGo()) return skipped("controller-runtime's webhooks")
      const program = join(folder, 'webhooks')
      execFileSync('go', ['build', '-o', program, './bench_webhooks'], {
        cwd: join(import.meta.dirname, '../go'),
        stdio: 'inherit',
      })
      return program
    }),
    /** Returns the stage of webhooks, which measures `n` creates. Undefined without a real control plane. */
    async webhooks(n: number) {
      if (hasRealServer()) return await made(openWebhookStage(await stage(), n))
      return skipped('webhooks', 'KUBEBUILDER_ASSETS is not set, and only a real API server calls them')
    },
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

function skipped(what: string, why = 'Go or the program to compare with is missing'): undefined {
  console.log(`Skipping ${what}: ${why}`)
}
