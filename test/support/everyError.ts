import { BaseError } from 'viem'
import { afterEach, expect } from 'vitest'
import { TxlaneError } from '../../src/errors/base.js'
import { type Leak, leaksOf } from './leaks.js'

// Set up in every project. After each test it walks every TxlaneError that the test made, wherever the error
// ended up, with all properties attached since. None may hold a URL beyond its origin.
// `super(...)` calls the prototype of the class at that moment, so a class put in between sees every
// construction, and the library needs no hook for it.
const made: TxlaneError[] = []
const leaks: Leak[] = []
// The number of errors kept until the end of a test. A test that makes more has the older ones walked early,
// because the hook after the test has only ten seconds.
const KEPT_MAX = 10_000

class Recorded extends BaseError {
  constructor(...parameters: ConstructorParameters<typeof BaseError>) {
    super(...parameters)
    made.push(this as unknown as TxlaneError)
    if (made.length > KEPT_MAX) walk(KEPT_MAX / 2)
  }
}
Object.setPrototypeOf(TxlaneError, Recorded)

function walk(count: number): void {
  for (const error of made.splice(0, count)) leaks.push(...leaksOf(error))
}

afterEach(() => {
  walk(made.length)
  expect(leaks.splice(0), 'an error of this test carries a credential').toEqual([])
})
