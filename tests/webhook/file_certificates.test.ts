/** Tests certificates from files: in memory with a fake clock, and once with the file system. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { nextTurn, systemClock } from '../../lib/async/clock.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import {
  type FileAccess,
  FileCertificates,
  type FileCertificatesOptions,
  followCaFile,
} from '../../lib/webhook/certificates/file_certificates.ts'
import type { CertificatePair } from '../../lib/webhook/common/handler.ts'
import { memoryMeter } from '../observe/memory_meter.ts'

let a: CertificatePair, b: CertificatePair, c: CertificatePair
before(async () => {
  const authority = await createAuthority()
  const issue = (commonName: string): Promise<CertificatePair> =>
    authority.issue({ commonName, dnsNames: ['localhost'], usage: 'server' })
  a = await issue('a')
  b = await issue('b')
  c = await issue('c')
})

/** Files in memory. */
class Files implements FileAccess {
  readonly texts = new Map<string, string>()
  readonly #watches = new Set<{ readonly folder: string; readonly onChange: () => void }>()
  opened = 0
  /** The code of each read's error. */
  failure: string | undefined

  readText(file: string): Promise<string> {
    const text = this.texts.get(file)
    const code = this.failure ?? (text === undefined ? 'ENOENT' : undefined)
    return code ? Promise.reject(Object.assign(new Error(`${code}: ${file}`), { code })) : Promise.resolve(text!)
  }

  watchFolder(folder: string, onChange: () => void): () => void {
    this.opened++
    const watch = { folder, onChange }
    this.#watches.add(watch)
    return () => void this.#watches.delete(watch)
  }

  put({ cert, key }: CertificatePair, folder = '/certs'): void {
    this.texts.set(`${folder}/tls.crt`, cert).set(`${folder}/tls.key`, key)
  }

  notify(folder = '/certs'): void {
    for (const { folder: watched, onChange } of this.#watches) if (watched === folder) onChange()
  }

  get watches(): number {
    return this.#watches.size
  }
}

async function setup(
  prepare: (files: Files) => void,
  options: Partial<FileCertificatesOptions> = {},
  use: (pair: CertificatePair) => void = () => {},
) {
  const files = new Files(), clock = new FakeClock(), meter = memoryMeter()
  const used: CertificatePair[] = [], lines: string[] = []
  const log = {
    debug() {},
    info: (message: string) => void lines.push(`info ${message}`),
    warn: (message: string, fields?: object) => void lines.push(`warn ${message} ${JSON.stringify(fields)}`),
    error() {},
  }
  prepare(files)
  const own = meter.certificates('webhooks')
  const source = new FileCertificates({ folder: '/certs', files, clock, log, meter: own, ...options })
  const stop = new AbortController()
  const ended = source.run((pair) => {
    use(pair)
    used.push(pair)
  }, stop.signal)
  ended.catch(() => {})
  await clock.advance(0)
  return {
    ...{ files, clock, used, lines, meter, ended },
    stop: () => (stop.abort(), ended),
    reads: () => meter.value('certwatcher_read_certificate_total')!,
    errors: () => meter.value('certwatcher_read_certificate_errors_total')!,
  }
}

test('scenario 104: initial read, change, rename, move-out; an error keeps the old pair; counters', async () => {
  const { files, clock, used, lines, stop, reads, errors } = await setup((files) => files.put(a))
  assert.deepEqual([used, reads(), errors()], [[a], 1, 0])
  // A change that is notified is used soon, one that is not at the next poll.
  files.put(b)
  files.notify()
  await clock.advance(50)
  assert.deepEqual([used, reads()], [[a, b], 2])
  files.put(c)
  await clock.advance(9999)
  assert.equal(used.length, 2)
  await clock.advance(1)
  assert.deepEqual([used, reads(), errors()], [[a, b, c], 3, 0])
  // The files are moved away, as when a Secret is deleted: the last pair stays, with one line.
  files.texts.clear()
  files.notify()
  await clock.advance(60_000)
  assert.equal(used.length, 3)
  assert.equal(lines.filter((line) => line.startsWith('warn')).length, 1)
  assert.match(lines[0]!, /^warn Serving the last certificate, because the files have none that can be used now; /)
  assert.match(lines[0]!, /Cannot read the certificate \/certs\/tls.crt: there is no such file/)
  assert.ok(errors() >= 6)
  // They come back, first with the last pair, then with another.
  for (const count of [1, 2]) {
    files.put(c)
    await clock.advance(10_000)
    assert.deepEqual([used.length, lines.length, lines.at(-1)], [
      3,
      2 * count,
      'info The certificate files can be used again',
    ])
    if (count === 1) files.texts.clear()
    await clock.advance(20_000)
  }
  files.put(a)
  await clock.advance(10_000)
  assert.deepEqual(used, [a, b, c, a])
  await stop()
  assert.deepEqual([clock.pending, files.watches], [0, 0])
})

test('a pair of two generations is not used: half a rotation keeps the old one, in either order', async () => {
  for (const half of ['cert', 'key'] as const) {
    const { files, clock, used, lines, errors, stop } = await setup((files) => files.put(a))
    files.put({ ...a, [half]: b[half] })
    files.notify()
    await clock.advance(50)
    assert.deepEqual([used.length, errors()], [1, 1])
    files.put(b)
    files.notify()
    await clock.advance(50)
    assert.deepEqual([used, lines.length], [[a, b], 0])
    await stop()
  }
})

test('a pair that stays torn is read again after a second, and reported once', async () => {
  const { files, clock, used, lines, stop } = await setup((files) => files.put(a))
  files.put({ cert: b.cert, key: a.key })
  files.notify()
  await clock.advance(1049)
  assert.equal(lines.length, 0)
  await clock.advance(1)
  assert.match(lines.join(), /^warn [^"]*"folder":"\/certs","error":"\/certs\/tls.crt and \/certs\/tls.key are not a /)
  await clock.advance(100_000)
  assert.deepEqual([used, lines.length], [[a], 1])
  files.texts.set('/certs/tls.key', '')
  await clock.advance(100_000)
  assert.deepEqual([used, lines.length], [[a], 1])
  files.put(b)
  await clock.advance(10_000)
  assert.deepEqual([used, lines.length], [[a, b], 2])
  assert.ok(!lines.some((line) => line.includes(a.key.split('\n')[1]!)))
  files.put({ cert: a.cert, key: b.key })
  files.notify()
  await clock.advance(100)
  assert.equal(lines.length, 2, 'one read that fails is not reported')
  await stop()
})

test('a pair that its user refuses is counted, and tried again', async () => {
  let refuses = false
  const refuse = (): void => {
    if (refuses) throw new TypeError('Cannot serve TLS')
  }
  const { files, clock, used, errors, lines, stop } = await setup((files) => files.put(a), {}, refuse)
  refuses = true
  files.put(b)
  await clock.advance(12_000)
  assert.deepEqual([used.length, errors() > 0, lines.length], [1, true, 1])
  refuses = false
  await clock.advance(10_000)
  assert.deepEqual(used, [a, b])
  await stop()
})

test('missing files are a ConfigError with both ways to get a certificate, after a second try', async () => {
  const { clock, ended, files, used } = await setup(() => {})
  let isEnded = false
  void ended.catch(() => (isEnded = true))
  await clock.advance(999)
  assert.equal(isEnded, false)
  await clock.advance(1)
  await assert.rejects(ended, (error) => {
    assert.ok(error instanceof ConfigError)
    assert.equal(
      error.message,
      'Cannot serve webhooks without a certificate; mount one at "/certs" with tls.crt and tls.key, as ' +
        "cert-manager writes them, and set `webhooks: { certs: 'FOLDER' }`, or let the operator make its own with " +
        "`webhooks: { certs: { secret: 'NAME' } }`: Cannot read the certificate /certs/tls.crt: there is no such file",
    )
    return true
  })
  assert.deepEqual([used, files.watches, clock.pending], [[], 0, 0])
})

test('files that are written just after the start are used', async () => {
  const { clock, files, used, stop, lines } = await setup((files) => files.texts.set('/certs/tls.crt', a.cert))
  files.put(a)
  await clock.advance(1000)
  assert.deepEqual([used, lines.length], [[a], 0])
  await stop()
})

test('unreadable files at the start say so', async () => {
  const { clock, ended } = await setup((files) => (files.put(a), files.failure = 'EACCES'))
  await clock.advance(1000)
  await assert.rejects(ended, /Cannot read the (certificate|private key) \/certs\/tls\.(crt|key): permission denied$/)
})

test('a folder that was replaced is watched anew once the poll has noticed it', async () => {
  const { files, clock, used, stop } = await setup((files) => files.put(a))
  assert.equal(files.opened, 1)
  files.put(b)
  await clock.advance(10_000)
  assert.deepEqual([used.length, files.opened, files.watches], [2, 2, 1])
  // A change that was notified needs no other watch.
  files.put(c)
  files.notify()
  await clock.advance(50)
  assert.deepEqual([used.length, files.opened], [3, 2])
  await clock.advance(30_000)
  assert.equal(files.opened, 2)
  await stop()
  assert.equal(files.watches, 0)
})

test('a burst of notifications is one read', async () => {
  const { files, clock, reads, stop } = await setup((files) => files.put(a))
  for (let i = 0; i < 10; i++) files.notify()
  await clock.advance(50)
  assert.deepEqual([reads(), clock.pending], [2, 1], 'reads, and timers')
  await stop()
})

test('a stop ends a read that hangs', async () => {
  const files = new Files()
  files.readText = () => new Promise(() => {})
  const stop = new AbortController()
  const ended = new FileCertificates({ folder: '/certs', files, clock: new FakeClock() }).run(() => {}, stop.signal)
  await nextTurn()
  stop.abort()
  await ended
  await new FileCertificates({ folder: '/certs', files }).run(() => {}, AbortSignal.abort())
  assert.equal(files.watches, 0)
})

test('the CA of clients is followed: a text that cannot be parsed keeps the last one', async () => {
  const files = new Files(), clock = new FakeClock(), used: string[] = [], warnings: string[] = []
  const log = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) }
  const parse = (pem: string): void => {
    if (!pem.startsWith('CA')) throw new ConfigError('not a CA')
  }
  files.texts.set('/ca/ca.crt', 'CA 1')
  const stop = new AbortController()
  const ended = followCaFile(
    { file: '/ca/ca.crt', parse, clock, log, files },
    (pem) => void used.push(pem),
    stop.signal,
  )
  await clock.advance(0)
  files.texts.set('/ca/ca.crt', 'CA 2')
  files.notify('/ca')
  await clock.advance(50)
  files.texts.set('/ca/ca.crt', 'garbage')
  await clock.advance(20_000)
  assert.deepEqual([used, warnings.length], [['CA 1', 'CA 2'], 1])
  files.texts.set('/ca/ca.crt', 'CA 3')
  await clock.advance(10_000)
  assert.deepEqual(used, ['CA 1', 'CA 2', 'CA 3'])
  stop.abort()
  await ended
  const missing = followCaFile({ file: '/none', parse, clock, log, files }, () => {}, new AbortController().signal)
  missing.catch(() => {})
  await clock.advance(1000)
  await assert.rejects(
    missing,
    /^ConfigError: Cannot verify the clients of webhooks: Cannot read the clients' CA \/none/,
  )
  for (const [file, folder] of [['/late', '/'], ['late', '.']] as const) {
    const ending = new AbortController()
    const following = followCaFile({ file, parse, clock, log, files }, (pem) => used.push(pem), ending.signal)
    await clock.advance(0)
    files.texts.set(file, `CA ${file}`)
    files.notify(folder)
    await clock.advance(50)
    assert.equal(used.at(-1), `CA ${file}`)
    ending.abort()
    await following
  }
})

test('on a file system: files written in place, renamed over, and swapped as the kubelet swaps a mount', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kubeloop-certs-'))
  const put = async (pair: CertificatePair, into: string): Promise<void> => {
    await mkdir(into, { recursive: true })
    await writeFile(join(into, 'tls.crt'), pair.cert)
    await writeFile(join(into, 'tls.key'), pair.key)
  }
  const stop = new AbortController()
  let used = (_: CertificatePair): void => {}
  const next = async (change: () => Promise<void>): Promise<CertificatePair> => {
    const pair = new Promise<CertificatePair>((resolve) => (used = resolve))
    await change()
    return await pair
  }
  try {
    await put(a, folder)
    let ended: Promise<void> | undefined
    const source = new FileCertificates({ folder, clock: systemClock })
    assert.deepEqual(
      await next(() => {
        ended = source.run((pair) => used(pair), stop.signal)
        return Promise.resolve()
      }),
      a,
    )
    assert.deepEqual(await next(() => put(b, folder)), b)
    const rename2 = async (): Promise<void> => {
      await put(c, join(folder, 'draft'))
      await rename(join(folder, 'draft/tls.key'), join(folder, 'tls.key'))
      await rename(join(folder, 'draft/tls.crt'), join(folder, 'tls.crt'))
    }
    assert.deepEqual(await next(rename2), c)
    const mount = async (): Promise<void> => {
      await put(a, join(folder, '..1'))
      await symlink('..1', join(folder, '..data'))
      for (const name of ['tls.crt', 'tls.key']) {
        await unlink(join(folder, name))
        await symlink(`..data/${name}`, join(folder, name))
      }
    }
    assert.deepEqual(await next(mount), a)
    const swap = async (): Promise<void> => {
      await put(b, join(folder, '..2'))
      await symlink('..2', join(folder, '..data_tmp'))
      await rename(join(folder, '..data_tmp'), join(folder, '..data'))
      await rm(join(folder, '..1'), { recursive: true })
    }
    const beganMs = systemClock.monotonic()
    assert.deepEqual(await next(swap), b)
    // Notified, not polled.
    assert.ok(systemClock.monotonic() - beganMs < 5000)
    stop.abort()
    await ended
  } finally {
    stop.abort()
    await rm(folder, { recursive: true })
  }
})
