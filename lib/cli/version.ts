/** This package's version. */
import { readText } from '../runtime/os/files.ts'
import { pathOfUrl } from '../runtime/os/user_files.ts'

export async function packageVersion(): Promise<string> {
  const { version } = JSON.parse(await readText(pathOfUrl(import.meta.resolve('kubeloop/package.json')))) as {
    version: string
  }
  return version
}
