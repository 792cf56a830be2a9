/** An operator as a process: what it prints and how it ends. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { httpTransport } from 'kubeloop'
import { systemClock } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { ConfigMap, Lease } from 'kubeloop/kinds'
import { ApiServer, serve, type ServedApi } from 'kubeloop/apiserver'
import { COMPILED } from '../tools/compiled.ts'
import { argumentsOf, launch, type Started, writeKubeconfig } from './processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubeloop-run-'))
let served: ServedApi
before(async () => void (served = await serve(new ApiServer())))
after(async () => {
  await served.close()
  rmSync(folder, { recursive: true })
})

const environment = (own: Readonly<Record<string, string>>) => ({
  PATH: process.env['PATH'] ?? '',
  HOME: folder,
  ...own,
})

/** Runs a file of ./files with only the given environment. */
function start(file: string, env: Record<string, string>, own: readonly string[] = []): Started {
  return launch([...argumentsOf(file), ...own], environment(env))
}

function kubeconfig(over: Partial<Pick<ServedApi, 'url' | 'ca' | 'token'>> = {}): string {
  const path = join(folder, `kubeconfig-${Math.random()}`)
  writeKubeconfig(path, { url: served.url, ca: served.ca, token: served.token, ...over })
  return path
}

/** Serves an API of its own while `work` runs. */
async function withApi(work: (api: Api, env: { readonly KUBECONFIG: string }) => Promise<void>): Promise<void> {
  const served = await serve(new ApiServer())
  const transport = httpTransport({ server: served.url, ca: served.ca, token: served.token })
  await work(new Api({ transport }), { KUBECONFIG: kubeconfig(served) })
  transport.close()
  await served.close()
}

/** Asserts that the process exits with 1 and logs only one line with the reason. */
async function endsWith(
  file: string,
  env: Record<string, string>,
  message: RegExp,
  own: readonly string[] = [],
): Promise<void> {
  const { code, lines, errors } = await start(file, env, own).ended
  assert.equal(errors, '')
  assert.deepEqual(lines.map(({ level, error }) => [level, error]), [['error', undefined]], JSON.stringify(lines))
  assert.match(lines[0]!.message, message)
  assert.equal(code, 1)
}

test('without a configuration the error names what was tried and how to run without a cluster', () =>
  endsWith(
    'plain.ts',
    {},
    /KUBECONFIG is not set, KUBERNETES_SERVICE_HOST is not set, and .*\.kube\/config does not exist.*kubeloop dev FILE/,
  ))

test('an unreachable server, and a failing flag, are named', async () => {
  await endsWith(
    'kind_without_crd.ts',
    { KUBECONFIG: kubeconfig({ url: 'https://127.0.0.1:1' }) },
    /^Cannot connect to 127\.0\.0\.1:1: connection refused; .*; the address is from context "test" in \S*kubeconfig-[\d.]+$/,
  )
  await endsWith(
    'plain.ts',
    { KUBECONFIG: kubeconfig() },
    /^Cannot read kubeconfig \/nowhere: there is no such file \(from --kubeconfig\)$/,
    ['--kubeconfig=/nowhere'],
  )
})

test('a refused token is reported, and not shown', () =>
  endsWith(
    'kind_without_crd.ts',
    { KUBECONFIG: kubeconfig({ token: 'wrong-token' }) },
    /^(?!.*wrong-token).*Unauthorized.* \(the server does not accept the credentials, which may have expired: user "test" of context "test" in \S*kubeconfig-[\d.]+\)$/i,
  ))

test('a signal stops the operator in order, with 0', async () => {
  const operator = start('plain.ts', { KUBECONFIG: kubeconfig(), KUBELOOP_LOG: 'Debug' })
  await operator.line(/Controller "configmap" runs/)
  const { code, lines, errors } = await operator.stop()
  assert.equal(code, 0, errors)
  assert.match(lines.at(-1)!.message, /Operator "plain" has stopped/)
  const has = (level: string, text: string): boolean =>
    lines.some((line) => line.level === level && line.message.startsWith(text))
  assert.ok(has('debug', `Found the cluster ${served.url}`), 'how the cluster was found')
  assert.ok(has('info', 'SIGTERM: stopping; a second signal exits at once'))
})

test('a typo in the level is logged, with control characters escaped, and the default applies', async () => {
  const operator = start('plain.ts', { KUBECONFIG: kubeconfig(), KUBELOOP_LOG: 'a\u009b2J\u007f' })
  await createServed('seen')
  await operator.line(/saw seen/)
  const { code, lines, output } = await operator.stop()
  assert.equal(code, 0)
  assert.deepEqual(lines.filter(({ level }) => level !== 'info').map(({ level, message }) => [level, message]), [
    ['warn', 'Cannot use KUBELOOP_LOG="a\u009b2J\u007f": the levels are debug, info, warn, error; "info" is used'],
  ])
  assert.match(output, /KUBELOOP_LOG=\\"a\\u009b2J\\u007f/)
})

test('--kubeconfig and --context choose the cluster, before KUBECONFIG; other arguments are left alone', async () => {
  const file = join(folder, 'two-contexts')
  const config = writeKubeconfig(file, served)
  const name = 'dead'
  config.contexts.push({ name, context: { cluster: name, user: 'test' } })
  config.clusters.push({ name, cluster: { ...config.clusters[0]!.cluster, server: 'https://127.0.0.1:1' } })
  writeFileSync(file, JSON.stringify({ ...config, 'current-context': name }))
  const flags = ['--own', 'x', '--kubeconfig', file, '--context=test', '-v']
  const operator = start('plain.ts', { KUBECONFIG: '/nowhere', KUBELOOP_LOG: 'debug' }, flags)
  await operator.line(/Controller "configmap" runs/)
  const { code, lines, errors } = await operator.stop()
  assert.equal(code, 0, errors)
  assert.ok(lines.some(({ message }) => message.includes(`kubeconfig ${file}, context "test"`)), JSON.stringify(lines))
})

test('an operator with its own log writes every line to it, with any KUBELOOP_LOG', async () => {
  const operator = start('own_log.ts', { KUBECONFIG: kubeconfig(), KUBELOOP_LOG: 'nonsense' })
  await operator.line(/Controller "configmap" runs/)
  const { code, lines, errors } = await operator.stop()
  assert.deepEqual([code, errors], [0, ''])
  assert.ok(lines.every((line) => (line as { own?: boolean }).own), JSON.stringify(lines))
  assert.match(lines.at(-1)!.message, /Operator "own-log" has stopped/)
  // Its failure, too, and once.
  const failed = await start('own_log.ts', { KUBECONFIG: '/nowhere' }).ended
  assert.deepEqual([failed.code, failed.errors, failed.lines.map(({ level }) => level)], [1, '', ['error']])
  assert.ok((failed.lines[0] as { own?: boolean }).own)
})

test('an unhandled rejection is logged, and does not end the process', () =>
  withApi(async (api, env) => {
    const operator = start('unawaited.ts', env)
    await createMap(api, 'first')
    const { level } = await operator.line(/^A promise was rejected and not awaited; is an await missing\? forgotten$/)
    assert.equal(level, 'error')
    await createMap(api, 'second')
    await operator.line(/saw second/)
    const { code, errors } = await operator.stop()
    assert.deepEqual([code, errors], [0, ''])
  }))

/** Returns what a file prints on a terminal, without the time and the fields. */
async function onTerminal(file: string, env: Record<string, string>, rights?: readonly string[]): Promise<string[]> {
  const args = argumentsOf(file).flatMap((each) => (each === '-A' && rights ? rights : [each])).map((each) =>
    `'${each}'`
  ).join(' ')
  const child = spawn('script', ['-qec', `'${process.execPath}' ${args}`, '/dev/null'], {
    env: { ...COMPILED, ...environment(env) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    // A prompt on the terminal would block the process.
    if (output.includes('Allow?')) child.kill()
  })
  await once(child, 'close')
  return output.trimEnd().split(/\r?\n/).map((line) =>
    line.replace(/^\d\d:\d\d:\d\d {2}/, '').replace(/ {2}\w+=.*$/, '')
  )
}

const noTerminal = spawnSync('script', ['--version']).error
  ? 'the command script, which gives a program a terminal, is not installed'
  : false

test('on a terminal an error is followed by its place and line of source, and equal failures fold', {
  skip: noTerminal,
}, async () => {
  await createServed('fail')
  const lines = await onTerminal('failing.ts', { KUBECONFIG: kubeconfig() })
  const place = lines.findIndex((line) => line.startsWith('          '))
  assert.match(
    lines[place] ?? '',
    /^ {10}.*failing\.ts:11:\d+ {2}throw new Error\('no data'\) \/\/ the line of source$/,
    lines.join('\n'),
  )
  assert.deepEqual(lines.toSpliced(place, 1), [
    'error: this is mine',
    'error: Cannot reconcile ConfigMap "default/fail": no data (retry 1 in 5 ms)',
    'error: Cannot reconcile ConfigMap "default/fail": no data (retry 2 in 10 ms)',
    'error: Cannot reconcile ConfigMap "default/fail": no data (retry 3 in 20 ms)',
    'error: Cannot reconcile ConfigMap "default/fail": no data (retry 5 in 80 ms)',
  ])
  assert.equal(place, 2, 'below the first failure')
})

const noRights = noTerminal || ('Deno' in globalThis ? false : 'this runtime has no rights to be given')

test('without the permission to read the file Deno does not prompt: only the place is printed', {
  skip: noRights,
}, async () => {
  await createServed('fail').catch(() => {}) // an earlier test has made it
  const rights = ['--allow-net', '--allow-env', '--allow-sys', `--allow-read=${folder}`]
  const lines = await onTerminal('failing.ts', { KUBECONFIG: kubeconfig() }, rights)
  assert.match(lines[2] ?? '', /^ {10}.*failing\.ts:11:\d+$/, lines.join('\n'))
  assert.equal(lines.length, 6, lines.join('\n'))
})

test('on a terminal a wrong configuration is one line, without a place in the code', { skip: noTerminal }, async () => {
  const lines = await onTerminal('plain.ts', { KUBECONFIG: '/nowhere/config' })
  assert.deepEqual(lines.map((line) => line.replace(/,.*/, '')), [
    'error: Cannot find a cluster: KUBECONFIG names /nowhere/config',
  ])
})

/** Half of the grace period, at whose end a process that waits for its reconcile ends with 1, too. */
const AT_ONCE_MS = 15_000

for (const [first, second] of [['SIGINT', 'SIGINT'], ['SIGTERM', 'SIGINT']] as const) {
  test(`a second signal exits at once, with 1: ${first}, ${second}`, () =>
    withApi(async (api, env) => {
      const operator = start('stuck.ts', env)
      await createMap(api, 'held')
      await operator.line(/stuck at held/)
      operator.kill(first)
      await operator.line(first === second ? /^stopping for a while$/ : new RegExp(`^${first}: stopping`))
      const began = systemClock.monotonic()
      operator.kill(second)
      const { code, lines } = await operator.ended
      const tookMs = systemClock.monotonic() - began
      assert.equal(code, 1)
      assert.ok(tookMs < AT_ONCE_MS, `${tookMs} ms: it waited for the reconcile`)
      assert.equal(lines.filter(({ message }) => message.includes(': stopping')).length, 1)
      assert.equal(lines.at(-1)!.message, `${second}: exiting now, which aborts running work`)
    }))
}

const LEASE = { resource: Lease, namespace: 'default', name: 'finishing' }

test('a repeated signal, as from a wrapper, counts once: the operator stops in order and releases its lease', () =>
  withApi(async (api, env) => {
    const operator = start('finishing.ts', env)
    await createMap(api, 'held')
    await operator.line(/^works$/)
    operator.kill('SIGINT')
    await operator.line(/^SIGINT: stopping/)
    operator.kill('SIGINT')
    await createMap(api, 'finish')
    const { code, lines, errors } = await operator.ended
    assert.deepEqual([code, errors], [0, ''])
    assert.equal(lines.at(-1)!.message, 'Operator "finishing" has stopped')
    const { spec } = await api.get(LEASE) as unknown as { spec: { holderIdentity?: string } }
    assert.equal(spec.holderIdentity ?? '', '')
  }))

async function createMap(api: Api, name: string): Promise<void> {
  const metadata = { namespace: 'default', name }
  await api.create({ resource: ConfigMap, namespace: 'default' }, { metadata }, {})
}

async function createServed(name: string): Promise<void> {
  const transport = httpTransport({ server: served.url, ca: served.ca, token: served.token })
  await createMap(new Api({ transport }), name).finally(() => transport.close())
}

test('a lost lease is logged at once, then what it caused, and as the last line again', () =>
  withApi(async (api, env) => {
    const operator = start('finishing.ts', env)
    await createMap(api, 'held')
    await operator.line(/^works$/)
    await api.patch(LEASE, 'merge', { spec: { holderIdentity: 'thief' } }, {})
    const { code, lines, errors } = await operator.ended
    assert.deepEqual([code, errors], [1, ''])
    const said = lines.filter(({ level }) => level !== 'info').map(({ message }) => message)
    assert.equal(said[0], 'Cannot renew lease "default/finishing": "thief" holds it now')
    assert.equal(said.filter((message) => message.startsWith('Cannot renew lease')).length, 1, said.join('\n'))
    const last = lines.at(-1)!
    assert.deepEqual([last.level, last.message], ['error', `Operator "finishing" has ended: ${said[0]}`])
    assert.doesNotMatch(said.join('\n'), /retry \d+ in/)
  }))
