/** Fields that a JSON text states twice in one object. JSON.parse keeps the last and says nothing. */

/** The paths of repeated fields, such as `spec.replicas`, in the order in which they repeat. The text must be valid JSON. */
export function duplicateFields(text: string): string[] {
  const found: string[] = []
  let at = 0
  skipSpace()
  value('')
  return found

  function value(path: string): void {
    switch (text[at]) {
      case '{':
        return object(path)
      case '[':
        return array(path)
      case '"':
        string()
        return
      default:
        while (at < text.length && !/[\s,\]}]/.test(text[at]!)) at++
    }
  }

  function object(path: string): void {
    const seen = new Set<string>()
    at++
    skipSpace()
    while (text[at] !== '}') {
      const key = JSON.parse(string()) as string
      const childPath = path ? `${path}.${key}` : key
      if (seen.has(key)) found.push(childPath)
      seen.add(key)
      skipSpace()
      at++ // the colon
      skipSpace()
      value(childPath)
      skipSeparator()
    }
    at++
  }

  function array(path: string): void {
    at++
    skipSpace()
    for (let index = 0; text[at] !== ']'; index++) {
      value(`${path}[${index}]`)
      skipSeparator()
    }
    at++
  }

  function string(): string {
    const start = at++
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    return text.slice(start, ++at)
  }

  function skipSpace(): void {
    while (text[at] === ' ' || text[at] === '\n' || text[at] === '\t' || text[at] === '\r') at++
  }

  function skipSeparator(): void {
    skipSpace()
    if (text[at] === ',') at++
    skipSpace()
  }
}
