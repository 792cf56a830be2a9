/** Bearer tokens: making one, and comparing without telling how much of it was right. */

const TOKEN_BYTES = 32

/** A random token of 256 bits. */
export function newToken(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)), (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}

/** Whether an Authorization header carries the token. Its time depends on the lengths alone. */
export function isAuthorized(header: string | undefined, token: string): boolean {
  const match = /^bearer +(\S+)$/i.exec(header ?? '')
  return match !== null && isSame(match[1]!, token)
}

function isSame(a: string, b: string): boolean {
  const encoder = new TextEncoder()
  const left = encoder.encode(a)
  const right = encoder.encode(b)
  let difference = left.length ^ right.length
  for (let i = 0; i < left.length; i++) difference |= left[i]! ^ (right[i % right.length] ?? 0)
  return difference === 0
}
