/** Whether a private key belongs to a certificate. PEM texts; throws when one of them cannot be read. */
import { builtins } from '../os/builtins.ts'

export function isPair(cert: string, key: string): boolean {
  const { createPrivateKey, X509Certificate } = builtins.crypto()
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
}
