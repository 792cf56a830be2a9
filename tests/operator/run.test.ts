/** An operator as a process: what it prints and how it ends. Each case is a process of the runtime that runs this test. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { httpTransport } from 'kubeloop'
import { systemClock } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { ConfigMap, Lease } from 'kubeloop/kinds'
import { ApiServer, serve, type ServedApi } from 'kubeloop/apiserver'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubeloop-run-'))
let served: ServedApi
before(async () => void (served = await serve(new ApiServer())))
after(async () => {
  await served.close()
  rmSync(folder, { recursive: true })
})

interface Line {
  readonly level: string
  readonly message: string
}

interface Started {
  /** Resolves with the first line whose message matches. */
  line(pattern: RegExp): Promise<Line>
  kill(signal: 'SIGTERM' | 'SIGINT'): void
  readonly ended: Promise<{ code: number | null; lines: Line[]; output: string; errors: string }>
}

/** Runs a file of ./files with only the given environment. */
function start(file: string, env: Record<string, string>, own: readonly string[] = []): Started {
  const path = fileURLToPath(new URL(`./files/${file}`, import.meta.url))
  const child = spawn(process.execPath, [...runtimeArguments(path), ...own], {
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [output, errors] = ['', '']
  const waiting: { pattern: RegExp; resolve: (line: Line) => void }[] = []
  const lines = (): Line[] => output.split('\n').slice(0, -1).map((line) => JSON.parse(line) as Line)
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    for (const { pattern, resolve } of waiting) {
      const line = lines().find(({ message }) => pattern.test(message))
      if (line) resolve(line)
    }
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, lines: lines(), output, errors }))
  return {
    ended,
    // Not child.kill(): after it, Deno says that the signal ended the child, however it really ended.
    kill: (signal) => void process.kill(child.pid!, signal),
    line: (pattern) =>
      Promise.race([
        new Promise<Line>((resolve) => {
          // It may have been written while the test waited for something else.
          const there = lines().find(({ message }) => pattern.test(message))
          if (there) resolve(there)
          else waiting.push({ pattern, resolve })
        }),
        ended.then(({ errors }) =>
          Promise.reject(new Error(`the process ended without a line like ${pattern}:\n${output}${errors}`))
        ),
      ]),
  }
}

/** Returns the command with which this runtime runs a file. */
function runtimeArguments(path: string): string[] {
  const name = basename(process.execPath)
  return [...(name.startsWith('deno') ? ['run', '-A', '--no-check'] : name.startsWith('bun') ? ['run'] : []), path]
}

function kubeconfig(cluster: { server?: string; ca?: string; token?: string } = {}): string {
  const path = join(folder, `kubeconfig-${Math.random()}`)
  const { server = served.url, ca = served.ca, token = served.token } = cluster
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'test', user: { token } }],
  })
  writeFileSync(path, text, { mode: 0o600 })
  return path
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
  assert.deepEqual(lines.map(({ level }) => level), ['error'], JSON.stringify(lines))
  assert.match(lines[0]!.message, message)
  assert.equal(code, 1)
}

test('without a configuration the error names what was tried and how to run without a cluster', () =>
  endsWith(
    'plain.ts',
    {},
    /KUBECONFIG is not set, KUBERNETES_SERVICE_HOST is not set, and .*\.kube\/config does not exist.*kubeloop dev FILE/,
  ))

test('a kubeconfig that does not exist is named', () =>
  endsWith('plain.ts', { KUBECONFIG: '/nowhere/config' }, /KUBECONFIG names \/nowhere\/config, which does not exist/))

test('a garbled kubeconfig is named, and not quoted', () => {
  const path = join(folder, 'garbled')
  writeFileSync(path, '{"users": [{"user": {"token": "SECRET')
  return endsWith('plain.ts', { KUBECONFIG: path }, /^(?!.*SECRET).*garbled/)
})

test('an unreachable server is named', () =>
  endsWith(
    'kind_without_crd.ts',
    { KUBECONFIG: kubeconfig({ server: 'https://127.0.0.1:1' }) },
    /^Cannot connect to 127\.0\.0\.1:1: connection refused; .*; the address is from context "test" in \S*kubeconfig-[\d.]+$/,
  ))

test('a server of another CA is not trusted', async () => {
  const { ca } = await createAuthority({ commonName: 'other' })
  await endsWith(
    'kind_without_crd.ts',
    { KUBECONFIG: kubeconfig({ ca }) },
    /127\.0\.0\.1:\d+.*certificate.*check certificate-authority-data of the cluster/,
  )
  // The field has its name in the file.
  const file = kubeconfig()
  const config = JSON.parse(readFileSync(file, 'utf8')) as { clusters: { cluster: object }[] }
  writeFileSync(join(folder, 'other-ca.crt'), ca)
  config.clusters[0]!.cluster = { server: served.url, 'certificate-authority': 'other-ca.crt' }
  writeFileSync(file, JSON.stringify(config))
  await endsWith(
    'kind_without_crd.ts',
    { KUBECONFIG: file },
    /127\.0\.0\.1:\d+.*certificate.*check certificate-authority of the cluster/,
  )
})

test('a refused token is reported, and not shown', () =>
  endsWith(
    'kind_without_crd.ts',
    { KUBECONFIG: kubeconfig({ token: 'wrong-token' }) },
    /^(?!.*wrong-token).*Unauthorized.* \(the server does not accept the credentials, which may have expired: user "test" of context "test" in \S*kubeconfig-[\d.]+\)$/i,
  ))

test('a kind without its CRD is named, with the remedy', () =>
  endsWith(
    'kind_without_crd.ts',
    { KUBECONFIG: kubeconfig() },
    /CustomResourceDefinition "things\.test\.dev" is not installed in this cluster; install it/,
  ))

test('a controller without reconcile is refused with its line', () =>
  endsWith(
    'no_reconcile.ts',
    { KUBECONFIG: kubeconfig() },
    /the controller for ConfigMap has no reconcile.*no_reconcile\.ts:6:\d+/,
  ))

test('a signal stops the operator in order, with 0', async () => {
  const operator = start('plain.ts', { KUBECONFIG: kubeconfig(), KUBELOOP_LOG: 'debug' })
  await operator.line(/Controller "configmap" runs/)
  operator.kill('SIGTERM')
  const { code, lines, errors } = await operator.ended
  assert.equal(code, 0, errors)
  assert.match(lines.at(-1)!.message, /Operator "plain" has stopped/)
  const { host } = new URL(served.url)
  assert.ok(
    lines.some(({ level, message }) =>
      level === 'debug' && message.startsWith('Found the cluster ') && message.includes(host)
    ),
    'how the cluster was found',
  )
  assert.ok(
    lines.some(({ level, message }) =>
      level === 'info' && message === 'SIGTERM: stopping; a second signal exits at once'
    ),
  )
})

test('a level is valid in any case; without it or with a typo the default applies, and the typo is logged', async () => {
  await createMap(served, 'seen')
  for (
    const [level, warnings, debugs] of [['INFO', 0, 0], ['Debug', 0, 1], ['verbose', 1, 0], [undefined, 0, 0]] as const
  ) {
    const operator = start('plain.ts', { KUBECONFIG: kubeconfig(), ...(level && { KUBELOOP_LOG: level }) })
    await operator.line(/saw seen/)
    operator.kill('SIGTERM')
    const { code, lines, errors } = await operator.ended
    assert.equal(code, 0, errors)
    const warned = lines.filter((line) => line.level === 'warn')
    assert.equal(warned.length, warnings, JSON.stringify(lines))
    assert.equal(lines.some((line) => line.level === 'debug'), debugs > 0, JSON.stringify(lines))
    if (warnings > 0) {
      assert.equal(
        warned[0]!.message,
        'Cannot use KUBELOOP_LOG="verbose": the levels are debug, info, warn, error; "info" is used',
      )
    }
  }
})

test('control characters from outside are escaped on standard output, and a line of JSON stays one', async () => {
  const { code, lines, output } = await start('plain.ts', { KUBECONFIG: '/nowhere', KUBELOOP_LOG: 'a\u009b2J\u007f' })
    .ended
  assert.equal(code, 1)
  assert.match(lines[0]!.message, /KUBELOOP_LOG="a\u009b2J\u007f"/)
  assert.match(output, /KUBELOOP_LOG=\\"a\\u009b2J\\u007f/)
})

test('--kubeconfig and --context choose the cluster, before KUBECONFIG; other arguments are left alone', async () => {
  const file = kubeconfig()
  const config = JSON.parse(readFileSync(file, 'utf8')) as {
    'current-context': string
    contexts: object[]
    clusters: object[]
  }
  config['current-context'] = 'dead'
  config.contexts.push({ name: 'dead', context: { cluster: 'dead', user: 'test' } })
  config.clusters.push({ name: 'dead', cluster: { server: 'https://127.0.0.1:1' } })
  writeFileSync(file, JSON.stringify(config))
  const operator = start('plain.ts', { KUBECONFIG: '/nowhere', KUBELOOP_LOG: 'debug' }, [
    '--own',
    'x',
    '--kubeconfig',
    file,
    '--context=test',
    '-v',
  ])
  await operator.line(/Controller "configmap" runs/)
  operator.kill('SIGTERM')
  const { code, lines, errors } = await operator.ended
  assert.equal(code, 0, errors)
  assert.ok(lines.some(({ message }) => message.includes(`kubeconfig ${file}, context "test"`)), JSON.stringify(lines))
})

test('an error about a flag has its name', async () => {
  await endsWith(
    'plain.ts',
    { KUBECONFIG: kubeconfig() },
    /^Cannot read kubeconfig \/nowhere: there is no such file \(from --kubeconfig\)$/,
    ['--kubeconfig=/nowhere'],
  )
  await endsWith(
    'plain.ts',
    { KUBECONFIG: kubeconfig() },
    /^Cannot use context "nope" .*there is no such context; it has "test" \(from --context\)$/,
    ['--context', 'nope'],
  )
  await endsWith('plain.ts', { KUBECONFIG: kubeconfig() }, /^Cannot use --context: its value is missing/, ['--context'])
})

test('an operator with its own log writes every line to it, with any KUBELOOP_LOG', async () => {
  const operator = start('own_log.ts', { KUBECONFIG: kubeconfig(), KUBELOOP_LOG: 'nonsense' })
  await operator.line(/Controller "configmap" runs/)
  operator.kill('SIGTERM')
  const { code, lines, errors } = await operator.ended
  assert.equal(code, 0, errors)
  assert.equal(errors, '')
  assert.ok(lines.every((line) => (line as { own?: boolean }).own), JSON.stringify(lines))
  assert.match(lines.at(-1)!.message, /Operator "own-log" has stopped/)
  // Its failure, too, and once.
  const failed = await start('own_log.ts', { KUBECONFIG: '/nowhere' }).ended
  assert.deepEqual([failed.code, failed.errors, failed.lines.map(({ level }) => level)], [1, '', ['error']])
  assert.ok((failed.lines[0] as { own?: boolean }).own)
})

test('an unhandled rejection is logged, and does not end the process', async () => {
  const api = await serve(new ApiServer())
  const operator = start('unawaited.ts', { KUBECONFIG: kubeconfig({ server: api.url, ca: api.ca, token: api.token }) })
  await createMap(api, 'first')
  const { level } = await operator.line(
    /^A promise was rejected and not awaited; is an await missing\? forgotten$/,
  )
  assert.equal(level, 'error')
  await createMap(api, 'second')
  await operator.line(/saw second/)
  operator.kill('SIGTERM')
  const { code, errors } = await operator.ended
  assert.deepEqual([code, errors], [0, ''])
  await api.close()
})

/** Returns what a file prints on a terminal, without the time and the fields. */
async function onTerminal(file: string, env: Record<string, string>, rights?: readonly string[]): Promise<string[]> {
  const path = fileURLToPath(new URL(`./files/${file}`, import.meta.url))
  const args = runtimeArguments(path).flatMap((each) => (each === '-A' && rights ? rights : [each])).map((each) =>
    `'${each}'`
  ).join(' ')
  const child = spawn('script', ['-qec', `'${process.execPath}' ${args}`, '/dev/null'], {
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
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
  await createMap(served, 'fail')
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
  await createMap(served, 'fail').catch(() => {}) // an earlier test has made it
  const rights = ['--allow-net', '--allow-env', '--allow-sys', `--allow-read=${folder}`]
  const lines = await onTerminal('failing.ts', { KUBECONFIG: kubeconfig() }, rights)
  assert.match(lines[2] ?? '', /^ {10}.*failing\.ts:11:\d+$/, lines.join('\n'))
  assert.equal(lines.length, 6, lines.join('\n'))
})

test('on a terminal the error that ends an operator is followed by its place', { skip: noTerminal }, async () => {
  const lines = await onTerminal('no_reconcile.ts', { KUBECONFIG: kubeconfig() })
  assert.match(lines[0]!, /^error: .*the controller for ConfigMap has no reconcile/)
})

test('on a terminal a wrong configuration is one line, without a place in the code', { skip: noTerminal }, async () => {
  const lines = await onTerminal('plain.ts', { KUBECONFIG: '/nowhere/config' })
  assert.deepEqual(lines.map((line) => line.replace(/,.*/, '')), [
    'error: Cannot find a cluster: KUBECONFIG names /nowhere/config',
  ])
})

/** Half of the grace period, at whose end a process that waits for its reconcile ends with 1, too. */
const AT_ONCE_MS = 15_000

for (const [first, second] of [['SIGINT', 'SIGINT'], ['SIGTERM', 'SIGINT'], ['SIGINT', 'SIGTERM']] as const) {
  test(`a second signal exits at once, with 1: ${first}, ${second}`, async () => {
    const api = await serve(new ApiServer())
    const operator = start('stuck.ts', { KUBECONFIG: kubeconfig({ server: api.url, ca: api.ca, token: api.token }) })
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
    await api.close()
  })
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`a repeated ${signal}, as from a wrapper, counts once: the operator stops in order and releases its lease`, async () => {
    const api = await serve(new ApiServer())
    const transport = httpTransport({ server: api.url, ca: api.ca, token: api.token })
    const operator = start('finishing.ts', {
      KUBECONFIG: kubeconfig({ server: api.url, ca: api.ca, token: api.token }),
    })
    await createMap(api, 'held')
    await operator.line(/^works$/)
    operator.kill(signal)
    await operator.line(new RegExp(`^${signal}: stopping`))
    operator.kill(signal)
    await createMap(api, 'finish')
    const { code, lines, errors } = await operator.ended
    assert.deepEqual([code, errors], [0, ''])
    assert.equal(lines.at(-1)!.message, 'Operator "finishing" has stopped')
    const lease = await new Api({ transport }).get({
      resource: Lease,
      namespace: 'default',
      name: 'finishing',
    }) as unknown as { spec: { holderIdentity?: string } }
    assert.equal(lease.spec.holderIdentity ?? '', '')
    transport.close()
    await api.close()
  })
}

async function createMap(api: ServedApi, name: string): Promise<void> {
  const transport = httpTransport({ server: api.url, ca: api.ca, token: api.token })
  await new Api({ transport }).create({ resource: ConfigMap, namespace: 'default' }, {
    metadata: { namespace: 'default', name },
  }, {})
  transport.close()
}

test('a lost lease is logged at once, then what it caused, and as the last line again', async () => {
  const api = await serve(new ApiServer())
  const transport = httpTransport({ server: api.url, ca: api.ca, token: api.token })
  const operator = start('finishing.ts', { KUBECONFIG: kubeconfig({ server: api.url, ca: api.ca, token: api.token }) })
  await createMap(api, 'held')
  await operator.line(/^works$/)
  const target = { resource: Lease, namespace: 'default', name: 'finishing' }
  await new Api({ transport }).patch(target, 'merge', { spec: { holderIdentity: 'thief' } }, {})
  const { code, lines, errors } = await operator.ended
  assert.deepEqual([code, errors], [1, ''])
  const said = lines.filter(({ level }) => level !== 'info').map(({ message }) => message)
  assert.equal(said[0], 'Cannot renew lease "default/finishing": "thief" holds it now')
  assert.equal(said.filter((message) => message.startsWith('Cannot renew lease')).length, 1, said.join('\n'))
  const last = lines.at(-1)!
  assert.deepEqual([last.level, last.message], ['error', `Operator "finishing" has ended: ${said[0]}`])
  assert.doesNotMatch(said.join('\n'), /retry \d+ in/)
  transport.close()
  await api.close()
})
