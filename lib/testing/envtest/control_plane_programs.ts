/** Prepares the programs of a control plane: their flags, files, ports and probes. */
import { kubeconfigOf } from '../../config/kubeconfig_text.ts'
import type { Authority, IssuedCertificate } from '../../runtime/net/certificates.ts'
import { freePort, probe } from '../../runtime/net/loopback.ts'
import { ensureFolder, type Workspace } from '../../runtime/os/workspace.ts'

/** Additional flags by program. They override the default ones. */
export interface ExtraArgs {
  readonly etcd?: readonly string[]
  readonly apiServer?: readonly string[]
  readonly controllerManager?: readonly string[]
}

export interface ProgramOptions {
  readonly authority: Authority
  readonly paths: Readonly<Record<ProgramName, string>>
  /** The controllers of kube-controller-manager, which runs only if there are any. */
  readonly controllers: readonly string[]
  /** The folder of etcd's data. Default: in the workspace. */
  readonly dataDir: string | undefined
  readonly extraArgs: ExtraArgs
}

export interface Program {
  readonly name: ProgramName
  readonly command: string
  readonly args: readonly string[]
  ready(): Promise<boolean>
}

/** The programs of a control plane. */
export type ProgramName = 'etcd' | 'kube-apiserver' | 'kube-controller-manager'

export interface Prepared {
  /** In the order of their start. */
  readonly programs: readonly Program[]
  readonly server: string
  readonly admin: IssuedCertificate
  /** The administrator's bearer token. */
  readonly token: string
}

/** Finds free ports and writes certificates and files. Starts no program. */
export async function prepare(options: ProgramOptions, workspace: Workspace): Promise<Prepared> {
  const { authority } = options
  const [etcdPort, apiPort, managerPort] = [await freePort(), await freePort(), await freePort()]
  const serving = await authority.issue({
    commonName: 'kube-apiserver',
    usage: 'server',
    ipAddresses: ['127.0.0.1', '::1', '10.0.0.1'],
    dnsNames: [
      'localhost',
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      'kubernetes.default.svc.cluster.local',
    ],
  })
  const organizations = ['system:masters']
  const admin = await authority.issue({ commonName: 'envtest-admin', organizations, usage: 'client' })
  // Signs and verifies service account tokens; no client uses it.
  const serviceAccounts = await authority.issue({ commonName: 'service-accounts', usage: 'client' })
  const token = crypto.randomUUID() + crypto.randomUUID()
  const files = {
    ca: workspace.write('ca.crt', authority.ca),
    servingCert: workspace.write('serving.crt', serving.cert),
    servingKey: workspace.write('serving.key', serving.key),
    adminCert: workspace.write('admin.crt', admin.cert),
    adminKey: workspace.write('admin.key', admin.key),
    serviceAccountCert: workspace.write('service-accounts.crt', serviceAccounts.cert),
    serviceAccountKey: workspace.write('service-accounts.key', serviceAccounts.key),
    tokens: workspace.write('tokens.csv', `${token},envtest-admin,envtest-admin,"system:masters"\n`),
    // A folder for files that a program would write elsewhere by default.
    unused: workspace.path('unused'),
  }
  const etcdUrl = `http://127.0.0.1:${etcdPort}`
  const server = `https://127.0.0.1:${apiPort}`
  const programs = [
    etcd(options, etcdUrl, options.dataDir ?? workspace.path('etcd')),
    apiServer(options, etcdUrl, apiPort, files, admin),
  ]
  if (options.controllers.length > 0) {
    const user = { 'client-certificate': files.adminCert, 'client-key': files.adminKey }
    const clusters = [{ name: 'envtest', cluster: { server, 'certificate-authority': files.ca } }]
    const kubeconfig = workspace.write('manager.kubeconfig', kubeconfigOf({ name: 'envtest', user }, clusters))
    programs.push(controllerManager(options, kubeconfig, managerPort, files))
  }
  return { programs, server, admin, token }
}

/** A stated flag takes the place of the default one: the programs would add the values of a list to those before. */
function withExtra(defaults: readonly string[], extra: readonly string[] = []): string[] {
  const nameOf = (flag: string): string => flag.split('=', 1)[0]!
  return [...defaults.filter((flag) => !extra.map(nameOf).includes(nameOf(flag))), ...extra]
}

type Files = Readonly<
  Record<'ca' | 'servingCert' | 'servingKey' | 'serviceAccountCert' | 'serviceAccountKey' | 'tokens' | 'unused', string>
>

function etcd({ paths, extraArgs }: ProgramOptions, url: string, data: string): Program {
  ensureFolder(data)
  return {
    name: 'etcd',
    command: paths['etcd'],
    args: withExtra([
      `--data-dir=${data}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      // etcd requires an address for peers, although a single member has none.
      '--listen-peer-urls=http://127.0.0.1:0',
      // Written data survives SIGKILL; only a crash of the machine would lose it.
      '--unsafe-no-fsync',
    ], extraArgs.etcd),
    ready: () => probe(`${url}/readyz`, {}),
  }
}

function apiServer(
  options: ProgramOptions,
  etcdUrl: string,
  port: number,
  files: Files,
  admin: IssuedCertificate,
): Program {
  const tls = { ca: options.authority.ca, ...admin }
  return {
    name: 'kube-apiserver',
    command: options.paths['kube-apiserver'],
    args: withExtra([
      `--etcd-servers=${etcdUrl}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${port}`,
      // After a kill, the restart must not wait until the system drops old connections.
      '--permit-address-sharing=true',
      `--tls-cert-file=${files.servingCert}`,
      `--tls-private-key-file=${files.servingKey}`,
      `--cert-dir=${files.unused}`,
      `--client-ca-file=${files.ca}`,
      `--token-auth-file=${files.tokens}`,
      '--authorization-mode=RBAC',
      // Without controllers nothing creates service accounts, and Pods would be refused.
      '--disable-admission-plugins=ServiceAccount',
      '--allow-privileged=true',
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      '--service-cluster-ip-range=10.0.0.0/24',
      `--service-account-key-file=${files.serviceAccountCert}`,
      `--service-account-signing-key-file=${files.serviceAccountKey}`,
    ], options.extraArgs.apiServer),
    // The namespace `default`, which tests need, is created after /readyz returns ok.
    ready: async () =>
      await probe(`https://127.0.0.1:${port}/readyz`, tls) &&
      await probe(`https://127.0.0.1:${port}/api/v1/namespaces/default`, tls),
  }
}

function controllerManager(options: ProgramOptions, kubeconfig: string, port: number, files: Files): Program {
  return {
    name: 'kube-controller-manager',
    command: options.paths['kube-controller-manager'],
    args: withExtra([
      `--kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--tls-cert-file=${files.servingCert}`,
      `--tls-private-key-file=${files.servingKey}`,
      `--cert-dir=${files.unused}`,
      `--service-account-private-key-file=${files.serviceAccountKey}`,
      `--root-ca-file=${files.ca}`,
      `--controllers=${options.controllers.join(',')}`,
    ], options.extraArgs.controllerManager),
    ready: () => probe(`https://127.0.0.1:${port}/healthz`, { ca: options.authority.ca }),
  }
}
