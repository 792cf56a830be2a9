/** Where a cluster is and how to speak to it: what configuration ends in and the transport begins with. */

/**
 * A cluster. Certificates and keys are PEM text. What can change is given as a function: it is asked before each request,
 * so it should answer from memory most of the time.
 *
 * @example
 * ```ts
 * import type { ClusterConfig } from 'kubeloop'
 * const cluster: ClusterConfig = { server: 'https://127.0.0.1:6443', token: () => Promise.resolve('secret') }
 * ```
 */
export interface ClusterConfig {
  /** `https://host:port`, with a path prefix if there is one. `http://` works too, and sends credentials unprotected. */
  readonly server: string
  /** The CAs to trust, instead of the system's. When the text changes, connections that are opened later trust the new ones. */
  readonly ca?: string | (() => Promise<string | undefined>) | undefined
  /** The bearer token. */
  readonly token?: string | (() => Promise<string>) | undefined
  /** The client certificate and its key; both or neither. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** Credentials that expire or rotate. What they have goes before `token`, `cert`, `key` and `headers` here. */
  readonly credentials?: (() => Promise<Credentials>) | undefined
  /** Headers to send with each request, such as an `authorization` that is not a bearer token. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The name to expect in the server's certificate, when it is not the host of `server`. */
  readonly serverName?: string | undefined
  /** Trust any certificate. Only for experiments. */
  readonly insecure?: boolean | undefined
  /** The proxy to reach the server through, as an `http://` or `https://` URL; user and password in it are sent. */
  readonly proxy?: string | undefined
  /** Ask for compressed answers. Default: yes, unless the server is on loopback. */
  readonly gzip?: boolean | undefined
  /** Whom to act as. */
  readonly impersonate?: Impersonation | undefined
  /** The namespace that leases and other own objects go to. */
  readonly namespace?: string | undefined
  /** Where all this was read, for errors. */
  readonly origin?: ConfigOrigin | undefined
  /** Called after a 401, so that credentials that were cached are fetched anew. Without it a 401 is not retried. */
  readonly invalidate?: (() => void) | undefined
}

/** What errors say of a configuration that was read from somewhere. */
export interface ConfigOrigin {
  /** Whose credentials, and where they are: `user "dev" of context "dev" in /home/me/.kube/config`. */
  readonly identity: string
  /** Fields of a kubeconfig as errors name them, such as `certificate-authority-data`, and what stands there in their place. */
  readonly fields?: Readonly<Record<string, string>> | undefined
}

/** Another identity to act as; the API server asks whether we may. Groups, uid and extra need a user. */
export interface Impersonation {
  readonly user?: string | undefined
  readonly groups?: readonly string[] | undefined
  readonly uid?: string | undefined
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}

/** What an exec plugin or a token source answers with. */
export interface Credentials {
  readonly token?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}
