/** A real control plane for a test, or for all of a file, from KUBEBUILDER_ASSETS. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after, before } from 'node:test'
import { silentLog } from '../../lib/observe/log.ts'
import { Cluster } from '../../lib/manager/cluster.ts'
import { type ClosableTransport, httpTransport } from '../../lib/runtime/net/transport.ts'
import { type Envtest, type EnvtestOptions, startEnvtest } from '../../lib/testing/envtest/envtest.ts'

/** Why tests on a real control plane are skipped; false if they are not. */
export const noPlane: string | false = process.env['KUBEBUILDER_ASSETS']
  ? false
  : 'KUBEBUILDER_ASSETS is not set: no real control plane'

/**
 * Starts a control plane before the tests of this file, unless they are skipped, and stops it after them.
 *
 * @param optionsIn Returns its options, for a folder that is removed at the end.
 */
export function realPlane(
  optionsIn: (folder: string) => EnvtestOptions | Promise<EnvtestOptions> = () => ({}),
  isSkipped = noPlane !== false,
) {
  let [envtest, folder]: [Envtest | undefined, string] = [undefined, '']
  const connections: ClosableTransport[] = []
  const connect = (config = envtest!.config): ClosableTransport => {
    const connection = httpTransport(config)
    connections.push(connection)
    return connection
  }
  let admin: { readonly transport: ClosableTransport; readonly client: Cluster['client'] }
  before(async () => {
    if (isSkipped) return
    folder = mkdtempSync(join(tmpdir(), 'kubeloop-real-'))
    envtest = await startEnvtest(await optionsIn(folder))
    const transport = connect()
    admin = { transport, client: new Cluster({ name: 'test', transport, log: silentLog }).client }
  })
  after(async () => {
    for (const connection of connections) connection.close()
    await envtest?.stop()
    if (folder) rmSync(folder, { recursive: true, force: true })
  })
  return {
    /** Opens a connection that is closed at the end. Default: that of the administrator. */
    connect,
    get envtest(): Envtest {
      return envtest!
    },
    get folder(): string {
      return folder
    },
    /** The connection of the administrator. */
    get transport(): ClosableTransport {
      return admin.transport
    },
    get client(): Cluster['client'] {
      return admin.client
    },
  }
}

/** Calls `work` with a new control plane and a connection to it. */
export async function withPlane(
  work: (envtest: Envtest, transport: ClosableTransport) => Promise<void>,
): Promise<void> {
  const envtest = await startEnvtest()
  const transport = httpTransport(envtest.tokenConfig)
  try {
    await work(envtest, transport)
  } finally {
    transport.close()
    await envtest.stop()
  }
}
