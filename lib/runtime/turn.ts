/** A macrotask turn: timers, sockets and signals get their chance before what follows. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
