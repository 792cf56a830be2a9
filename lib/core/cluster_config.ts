/** The address, certificates and credentials of a cluster. */

/**
 * A cluster. Certificates and keys are PEM text. Values that change are functions, called before each request: they
 * should answer from memory most of the time.
 *
 * @example
 * ```ts
 * import type { ClusterConfig } from 'kubeloop'
 * const cluster: ClusterConfig = { server: 'https://127.0.0.1:6443', token: () => Promise.resolve('secret') }
 * ```
 */
export interface ClusterConfig {
  /**
   * `https://host:port`, with a path prefix if there is one, and no user. By `http://`, credentials are sent to loopback
   * only, and not through a proxy.
   */
  readonly server: string
  /** Sends credentials unencrypted if `server` is an `http://` URL of another machine. Default: false. */
  readonly allowUnencrypted?: boolean | undefined
  /** The CAs to trust, instead of the system's. A changed text applies to connections that are opened later. */
  readonly ca?: string | (() => Promise<string | undefined>) | undefined
  /** The bearer token. */
  readonly token?: string | (() => Promise<string>) | undefined
  /** The client certificate. Needs `key`. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /**
   * Credentials that expire or rotate. Its fields override `token`, `cert`, `key` and `headers`. The signal is aborted
   * when the connection is closed.
   */
  readonly credentials?: ((closed?: AbortSignal) => Promise<Credentials>) | undefined
  /** Headers to send with each request, such as an `authorization` that is not a bearer token. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The name to expect in the server's certificate, when it is not the host of `server`. */
  readonly serverName?: string | undefined
  /** Trust any certificate. Only for experiments. */
  readonly insecure?: boolean | undefined
  /** The proxy to reach the server through, as an `http://` or `https://` URL; user and password in it are sent. */
  readonly proxy?: string | undefined
  /** Asks for compressed answers. Default: true, unless the server is on loopback. */
  readonly gzip?: boolean | undefined
  /**
   * Whether watches share a few connections over HTTP/2, where the server has it. Through a proxy and without TLS they
   * never do. Default: those beyond the first 16 do; on Deno none.
   */
  readonly http2?: boolean | undefined
  /** The identity to impersonate. */
  readonly impersonate?: Impersonation | undefined
  /** The namespace of leases and other objects of the operator itself. */
  readonly namespace?: string | undefined
  /** Where the configuration was read, for errors. */
  readonly origin?: ConfigOrigin | undefined
  /** Called after a 401: drops cached credentials. Without it a 401 is not retried. */
  readonly invalidate?: (() => void) | undefined
  /**
   * Called when the server's certificate is not signed by one of `ca`: drops cached CAs. If `ca` returns others then,
   * the connection is opened once more.
   */
  readonly invalidateCa?: (() => void) | undefined
}

/** The source of a configuration, for errors. */
export interface ConfigOrigin {
  /** The user and the source of the credentials: `user "dev" of context "dev" in /home/me/.kube/config`. */
  readonly identity: string
  /** The source of the server's address, for failed connections: `context "dev" in /home/me/.kube/config`. */
  readonly address?: string | undefined
  /** Maps a field that errors name, such as `certificate-authority-data`, to the field or file that is used instead. */
  readonly fields?: Readonly<Record<string, string>> | undefined
}

/** An identity to impersonate, if the user's role permits it. Groups, uid and extra need a user. */
export interface Impersonation {
  readonly user?: string | undefined
  readonly groups?: readonly string[] | undefined
  readonly uid?: string | undefined
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}

/** The answer of an exec plugin or a token source. */
export interface Credentials {
  readonly token?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}
