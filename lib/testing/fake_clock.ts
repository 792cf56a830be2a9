/** The clock of tests; its code is in `async`. */
export { FakeClock } from '../async/fake_clock.ts'
