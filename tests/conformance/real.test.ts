/** Runs the conformance suite on real kube-apiservers, which validate the suite itself. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { type ClosableTransport, httpTransport } from '../../lib/runtime/net/transport.ts'
import type { Case, SharedKinds } from './api.ts'
import { DIFFERENCES } from './differences.ts'
import { servedHooks } from './hooks.ts'
import { ALONE_CASES, CASES, runCase, SEPARATE_CASES } from './suite.ts'

const missing = process.env['KUBEBUILDER_ASSETS']
  ? false
  : 'KUBEBUILDER_ASSETS is not set: no real kube-apiserver to compare with'

/** Most of a case is waiting: a real server holds a list for up to 100 ms after a write, so that it is consistent. */
const PARALLEL = 6

/** A control plane with the hooks that it calls. */
class Server {
  readonly #envtest: Envtest
  readonly #hooks: Awaited<ReturnType<typeof servedHooks>>
  readonly #transport: ClosableTransport
  readonly #shared: SharedKinds

  private constructor(envtest: Envtest, hooks: Awaited<ReturnType<typeof servedHooks>>) {
    this.#envtest = envtest
    this.#hooks = hooks
    this.#shared = { hooks }
    this.#transport = httpTransport(envtest.tokenConfig)
  }

  static async start(): Promise<Server> {
    return new Server(await startEnvtest(), await servedHooks())
  }

  /** Runs the cases in their order, `parallel` at a time. Returns the results by the names. */
  run(cases: readonly Case[], parallel: number): [string, Promise<void>][] {
    const runs = cases.map((each) => ({ each, ...Promise.withResolvers<void>() }))
    const rest = runs.values()
    const work = async () => {
      for (const { each, resolve, reject } of rest) {
        await runCase(each, this.#transport, this.#shared).then(resolve, reject)
      }
    }
    for (let worker = 0; worker < parallel; worker++) void work()
    // The test of a case reads its result later.
    for (const { promise } of runs) promise.catch(() => {})
    return runs.map(({ each, promise }) => [each.name, promise])
  }

  async stop(): Promise<void> {
    this.#transport.close()
    await this.#envtest.stop()
    await this.#hooks.close()
  }
}

let servers: readonly Server[] = []
let results: ReadonlyMap<string, Promise<void>> = new Map()

before(async () => {
  if (missing) return
  const [first, second] = await Promise.all([Server.start(), Server.start()])
  servers = [first, second]
  const here = (cases: readonly Case[]) => cases.filter(({ name }) => !DIFFERENCES[name]?.real)
  results = new Map([
    ...first.run(here(SEPARATE_CASES), PARALLEL),
    ...second.run(here(ALONE_CASES), 1),
  ])
})

after(async () => {
  for (const server of servers) await server.stop()
})

for (const { name } of CASES) {
  test(
    `real: ${name}`,
    { skip: missing || (DIFFERENCES[name]?.real ?? false) },
    () => results.get(name) ?? assert.fail('the case was not started'),
  )
}
