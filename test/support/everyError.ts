import { BaseError } from 'viem'
import { afterEach, expect } from 'vitest'
import { TxlaneError } from '../../src/errors/base.js'
import { leaksOf } from './leaks.js'

// Set up in every project: each TxlaneError that a test makes, wherever it ends up, is walked when the test is over,
// with all that was hung on it since. None may hold a URL beyond its origin.
//
// `super(...)` goes to whatever the prototype of the class is at that moment, so a class put in between sees every
// construction, and the library needs no hook for it.
const made: TxlaneError[] = []

class Recorded extends BaseError {
  constructor(...parameters: ConstructorParameters<typeof BaseError>) {
    super(...parameters)
    made.push(this as unknown as TxlaneError)
  }
}
Object.setPrototypeOf(TxlaneError, Recorded)

afterEach(() => {
  const leaks = made.splice(0).flatMap((error) => leaksOf(error))
  expect(leaks, 'an error of this test carries a credential').toEqual([])
})
