/** This package's version. */
import { readText } from '../runtime/files.ts'
import { pathOfUrl } from '../runtime/user_files.ts'

export async function packageVersion(): Promise<string> {
  const { version } = JSON.parse(await readText(pathOfUrl(import.meta.resolve('kubeloop/package.json')))) as { version: string }
  return version
}
