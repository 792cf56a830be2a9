/** Serves an API for kubectl: the port, and the kubeconfig. */
import { serve, type ServedApi } from 'kubeloop/apiserver'

/** The address of the API unless another one is given. */
const LOOPBACK = '127.0.0.1'

/** The codes of an address that is not one of this machine; Deno's is the last one. */
const NO_ADDRESS: readonly string[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL']

/**
 * Serves on a port, or on a free one.
 *
 * @throws Error if the port is in use, or the host is not an address of this machine.
 */
export async function listen(
  api: Parameters<typeof serve>[0],
  { host = LOOPBACK, port = 0 }: { readonly host?: string | undefined; readonly port: number | undefined },
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

/** The current context of a kubeconfig. */
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

/**
 * Returns a kubeconfig as JSON, which needs no YAML parser. Each of the others, below a path of the server, has a
 * context.
 */
export function kubeconfigText(
  { url, token, ca }: Pick<ServedApi, 'url' | 'token' | 'ca'>,
  others: readonly { readonly context: string; readonly path: string }[] = [],
): string {
  const clusters = [
    { name: CONTEXT, server: url },
    ...others.map(({ context, path }) => ({ name: context, server: url + path })),
  ]
  return `${
    JSON.stringify(
      {
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': CONTEXT,
        contexts: clusters.map(({ name }) => ({
          name,
          context: { cluster: name, user: CONTEXT, namespace: 'default' },
        })),
        clusters: clusters.map(({ name, server }) => ({
          name,
          cluster: { server, 'certificate-authority-data': btoa(ca) },
        })),
        users: [{ name: CONTEXT, user: { token } }],
      },
      null,
      2,
    )
  }\n`
}
