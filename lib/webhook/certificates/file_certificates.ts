/** Reads a server's certificate from files, and follows their replacement. */
import { rejectOnAbort, untilAborted } from '../../async/abort.ts'
import { type Clock, sleep } from '../../async/clock.ts'
import { fits } from '../../config/rotating_pair.ts'
import { readFailure } from '../../config/rotating_file.ts'
import { ConfigError, messageOf } from '../../core/errors.ts'
import { environmentOf, type PartEnvironment, type PartOptions } from '../../observe/environment.ts'
import { readText, watchFolder } from '../../runtime/os/files.ts'
import type { CertificatePair, CertificateSource } from '../common/handler.ts'
import type { CertificateMetrics } from '../common/metrics.ts'

/** The interval of controller-runtime's certificate watcher. Notifications are faster, but can get lost. */
const POLL_MS = 10_000
/** Certificate and key may be written one after the other. */
const SETTLE_MS = 50
/** The wait before a failure is reported: most often the other file is being written. */
const RETRY_MS = 1000

/** The files of a machine. Tests pass other ones. */
export interface FileAccess {
  /** Rejects with the system's error, which has a `code`. */
  readText(file: string): Promise<string>
  /** Calls `onChange` when the folder's entries change, until the returned function is called. */
  watchFolder(folder: string, onChange: () => void): () => void
}

const systemFiles: FileAccess = { readText, watchFolder }

export interface FileCertificatesOptions extends PartOptions {
  /**
   * The folder with `tls.crt`, which may have intermediate certificates after the server's own, and `tls.key`, such as
   * the mount of a Secret that cert-manager writes.
   */
  readonly folder: string
  /** What the certificate serves, and what to do without one, for errors. Default: webhooks. */
  readonly use?: CertificateUse | undefined
  /** Default: none. */
  readonly meter?: CertificateMetrics | undefined
  /** Default: this machine's. */
  readonly files?: FileAccess | undefined
  /** Called before a pair is used; it is used when this resolves. Default: at once. */
  readonly introduce?: ((current: CertificatePair | undefined, signal: AbortSignal) => Promise<void>) | undefined
}

/** What a certificate is for, in errors. */
interface CertificateUse {
  /** Such as `webhooks`. */
  readonly what: string
  readonly remedy: (folder: string) => string
}

const WEBHOOKS: CertificateUse = {
  what: 'webhooks',
  remedy: (folder) =>
    `mount one at "${folder}" with tls.crt and tls.key, as cert-manager writes them, and set ` +
    "`webhooks: { certs: 'FOLDER' }`, or let the operator make its own with `webhooks: { certs: { secret: 'NAME' } }`",
}

/**
 * A certificate and its key in a folder, read again when the folder changes and every 10 s.
 *
 * While one of them is missing, unreadable or does not match the other, the last good pair stays in use. That is
 * reported once, when it lasts longer than a second.
 */
export class FileCertificates implements CertificateSource {
  readonly #options: FileCertificatesOptions & PartEnvironment & { readonly files: FileAccess }

  constructor(options: FileCertificatesOptions) {
    this.#options = { ...options, ...environmentOf(options), files: options.files ?? systemFiles }
  }

  /** @throws ConfigError if there is no pair to begin with. */
  async run(use: (pair: CertificatePair) => void, signal: AbortSignal): Promise<void> {
    const { folder, files, clock, log, meter: metrics, introduce, use: { what, remedy } = WEBHOOKS } = this.#options
    let current: CertificatePair | undefined
    const read = async (): Promise<boolean> => {
      const pair = await this.#read(metrics)
      if (pair.cert === current?.cert) return false
      await introduce?.(current, signal)
      try {
        use(pair)
      } catch (error) {
        metrics?.readErrors.inc()
        throw error
      }
      current = pair
      return true
    }
    await followFiles({
      ...{ folder, read, files, clock, signal },
      first: (cause) => {
        const how = `${what} without a certificate; ${remedy(folder)}`
        return new ConfigError(`Cannot serve ${how}: ${messageOf(cause)}`, { cause })
      },
      onFailure: (error) =>
        log.warn('Serving the last certificate, because the files have none that can be used now; replace them', {
          folder,
          error: messageOf(error),
        }),
      onRecovery: () => log.info('The certificate files can be used again', { folder }),
    })
  }

  async #read(metrics: CertificateMetrics | undefined): Promise<CertificatePair> {
    const { folder } = this.#options
    metrics?.reads.inc()
    try {
      // Close together, as both may be replaced in between; if both are missing, the error names the certificate.
      const reading = this.#readOne(`${folder}/tls.key`, 'the private key')
      reading.catch(() => {})
      const cert = await this.#readOne(`${folder}/tls.crt`, 'the certificate')
      const key = await reading
      if (!fits({ cert, key })) {
        throw new ConfigError(
          `${folder}/tls.crt and ${folder}/tls.key are not a certificate and its private key in PEM; replace both`,
        )
      }
      return { cert, key }
    } catch (error) {
      metrics?.readErrors.inc()
      throw error
    }
  }

  #readOne(file: string, what: string): Promise<string> {
    return this.#options.files.readText(file).catch((error: unknown) => {
      throw readFailure(file, what, error)
    })
  }
}

export interface FileCaOptions extends PartEnvironment {
  readonly file: string
  /** Throws if the text has no CA certificates. */
  readonly parse: (pem: string) => void
  readonly files?: FileAccess | undefined
}

/**
 * Calls `use` with the CAs in a file, and with each text that replaces it, until the signal is aborted. A file that is
 * missing or has no certificates leaves the last text in use.
 *
 * @throws ConfigError if there is no text to begin with.
 */
export async function followCaFile(
  { file, parse, clock, log, files = systemFiles }: FileCaOptions,
  use: (pem: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let current: string | undefined
  await followFiles({
    ...{ folder: file.replace(/\/?[^/]*$/, '') || (file.startsWith('/') ? '/' : '.'), files, clock, signal },
    read: async () => {
      const pem = await files.readText(file).catch((error: unknown) => {
        throw readFailure(file, "the clients' CA", error)
      })
      if (pem === current) return false
      parse(pem)
      use(pem)
      current = pem
      return true
    },
    first: (error) => new ConfigError(`Cannot verify the clients of webhooks: ${messageOf(error)}`, { cause: error }),
    onFailure: (error) =>
      log.warn('Using the last CAs of clients, because the file has none that can be used now; replace it', {
        file,
        error: messageOf(error),
      }),
    onRecovery: () => log.info('The file with the CAs of clients can be used again', { file }),
  })
}

interface Following {
  readonly folder: string
  /** Reads the files and uses them. Resolves to whether they have changed. */
  readonly read: () => Promise<boolean>
  readonly files: FileAccess
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Returns the error of a first read that failed twice. */
  readonly first: (error: unknown) => Error
  /** Called once for each time that the files cannot be used. */
  readonly onFailure: (error: unknown) => void
  readonly onRecovery: () => void
}

/** Reads files now, on each notification, and every 10 s. Resolves when the signal is aborted. */
async function followFiles(following: Following): Promise<void> {
  const { folder, read, files, clock, signal, first, onFailure, onRecovery } = following
  if (signal.aborted) return
  let isNotified = false
  let wake = (): void => {}
  const onChange = (): void => {
    isNotified = true
    wake()
  }
  let endWatch = files.watchFolder(folder, onChange)
  let isFirst = true
  /** When the first of the last reads failed. */
  let failedAtMs: number | undefined
  let isReported = false
  try {
    for (;;) {
      const wasNotified = isNotified
      isNotified = false
      try {
        const hasChanged = await untilAborted(read(), signal)
        if (isReported) onRecovery()
        isReported = false
        failedAtMs = undefined
        if (hasChanged && !wasNotified && !isFirst) {
          // The watch missed it: it follows a folder that was replaced.
          endWatch()
          endWatch = files.watchFolder(folder, onChange)
        }
        isFirst = false
      } catch (error) {
        if (signal.aborted) return
        failedAtMs ??= clock.monotonic()
        if (clock.monotonic() - failedAtMs >= RETRY_MS) {
          if (isFirst) throw first(error)
          if (!isReported) onFailure(error)
          isReported = true
        }
      }
      await changeOrTimeout(failedAtMs !== undefined && !isReported ? RETRY_MS : POLL_MS)
      if (signal.aborted) return
    }
  } finally {
    endWatch()
  }

  /** Never rejects. */
  async function changeOrTimeout(ms: number): Promise<void> {
    let stop = (): void => {}
    const begin = (resolve: () => void): () => void => {
      wake = resolve
      return (stop = clock.after(ms, resolve))
    }
    try {
      if (!isNotified) await rejectOnAbort(signal, begin)
      stop()
      if (isNotified) await sleep(clock, SETTLE_MS, signal)
    } catch {
      // Aborted: the caller ends.
    }
  }
}
