/** Serves an API for kubectl: the port, and the kubeconfig. */
import { serve, type ServedApi } from 'kubeloop/apiserver'
import { kubeconfigOf } from '../../config/kubeconfig_text.ts'

/** The codes of an address that is not one of this machine; Deno's is the last one. */
const NO_ADDRESS: readonly string[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL']

/** @throws Error if the port is in use, or the host is not an address of this machine. Default: a free port. */
export async function listen(
  api: Parameters<typeof serve>[0],
  { host = '127.0.0.1', port = 0 }: { readonly host?: string | undefined; readonly port: number | undefined },
): Promise<ServedApi> {
  try {
    return await serve(api, { host, port })
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'EADDRINUSE') {
      const remedy = 'choose another one with --port, or leave --port out for a free one'
      throw new Error(`Cannot serve the API on ${host}:${port}: the port is in use; ${remedy}`, { cause: error })
    }
    if (NO_ADDRESS.includes(String(code))) {
      throw new Error(`Cannot serve the API on ${host}: it is not an address of this machine`, { cause: error })
    }
    throw error
  }
}

export const CONTEXT = 'kubeloop'

/** Returns whether a text is a kubeconfig of {@link kubeconfigText}. */
export function isOwnKubeconfig(text: string): boolean {
  try {
    const { 'current-context': context, users } = JSON.parse(text) as { 'current-context'?: unknown; users?: unknown[] }
    return context === CONTEXT && users?.length === 1 && (users[0] as { name?: unknown }).name === CONTEXT
  } catch {
    // YAML, or a file of another kind.
    return false
  }
}

/** Returns a kubeconfig as JSON, with contexts of the API and of others below its path. */
export function kubeconfigText(
  { url, token, ca }: Pick<ServedApi, 'url' | 'token' | 'ca'>,
  others: readonly { readonly context: string; readonly path: string }[] = [],
): string {
  const clusters = [{ context: CONTEXT, path: '' }, ...others].map(({ context, path }) => {
    return { name: context, cluster: { server: url + path, 'certificate-authority-data': btoa(ca) } }
  })
  return kubeconfigOf({ name: CONTEXT, user: { token } }, clusters, { namespace: 'default' })
}
