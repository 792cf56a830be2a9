/** Finds the cluster by code that is loaded at the first call: a test or a start with a configuration needs none. */
import { fileMissing } from '../core/errors.ts'
import type { LoadedCluster, LoadOptions } from './loaded.ts'

/**
 * Finds the cluster. Sends nothing to it.
 *
 * @throws ConfigError that says what was searched for, or which file and field is wrong. It never quotes a secret.
 */
export async function loadConfig(options: LoadOptions = {}): Promise<LoadedCluster> {
  const { findCluster } = await import('./find.ts').catch(fileMissing('find a cluster', 'config.js'))
  return await findCluster(options)
}
