/** What an operator's process says under `kubeloop dev` before it reads the operator's file, where its watcher is deaf meanwhile. */
import { httpTransport, loadConfig } from 'kubeloop'

/** Where it is said. No API group can be called so. */
export const LOADING_PATH = '/kubeloop/dev/loading'

/** Settles when the command has taken note of the files as they are. */
export async function announceLoading(): Promise<void> {
  const { cluster } = await loadConfig()
  const connection = httpTransport(cluster, { userAgent: 'kubeloop dev' })
  try {
    const response = await connection({ method: 'POST', path: LOADING_PATH })
    await response.body.text()
  } finally {
    connection.close()
  }
}
