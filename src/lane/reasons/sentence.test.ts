import { expect, test } from 'vitest'
import type { WaitCause } from '../../types/wait.js'
import { reasonOf } from './sentence.js'

const said = 'header not found'
const WORDS = `said: "${said}".`

/** Each cause with its sentence, with and without the message of an endpoint. */
const SENTENCES: readonly (readonly [WaitCause, string])[] = [
  [
    { for: 'estimate', endpoint: 'e0', tries: 1 },
    'The endpoint e0 has not answered for its gas estimate yet.',
  ],
  [
    { for: 'estimate', endpoint: 'e0', tries: 1, said },
    `Its gas estimate was asked for once and is asked for again; the endpoint e0 ${WORDS}`,
  ],
  [{ for: 'condition', after: ['a'] }, 'It waits for the transaction a, which it was sent after.'],
  [
    { for: 'condition', after: ['a', 'b', 'c', 'd'] },
    'It waits for the transactions a, b, c and 1 more, which it was sent after.',
  ],
  [{ for: 'funds' }, 'It waits for money.'],
  [{ for: 'funds', balanceWei: 5n }, 'It waits for money: the account has 5 wei.'],
  [
    { for: 'funds', neededWei: 9n, balanceWei: 5n, said },
    `It waits for money: it may cost 9 wei, and the account has 5 wei; the endpoint ${WORDS}`,
  ],
  [{ for: 'order', behind: undefined }, 'It waits for its turn in the queue.'],
  [{ for: 'order', behind: 'a' }, 'It waits behind the transaction a, which goes first.'],
  [
    { for: 'hold', holds: ['paused', 'jump'], details: { jump: 'The count is 900.' } },
    'The lane reserves no nonces for now: it was paused, until resume(); The count is 900.',
  ],
  [{ for: 'fee', endpoint: 'e0' }, 'The endpoint e0 has not answered with a gas price yet.'],
  [{ for: 'fee', endpoint: 'e0', said }, `The endpoint e0 has not answered with a gas price; it ${WORDS}`],
  [
    { for: 'fee', endpoint: 'e0', offeredWei: 5n, baseFeeWei: 9n },
    'It offers 5 wei for a unit of gas, and the base fee is 9 wei.',
  ],
  [
    { for: 'window', size: 16, uncovered: 16 },
    'The window is full: 16 of 16 nonces are not covered by the chain or the pool yet.',
  ],
  [{ for: 'signature', failed: false }, 'Its signature is being made.'],
  [{ for: 'signature', failed: true }, "The account's signer failed, and is asked again soon."],
  [{ for: 'journal' }, 'The store has not confirmed its record yet.'],
  [{ for: 'nonce', nonce: 7 }, 'Nonce 7 has to be used first.'],
  [{ for: 'endpoint', endpoint: 'e0' }, 'The endpoint e0 has not answered for its bytes yet.'],
  [{ for: 'endpoint', endpoint: 'e0', said }, `The endpoint e0 has not accepted its bytes; it ${WORDS}`],
  [{ for: 'block', head: undefined }, 'It waits for the next block.'],
  [{ for: 'block', head: 7 }, 'It waits for a block after 7.'],
  [{ for: 'block', head: 7, said }, `It waits for a block after 7. The endpoint last ${WORDS}`],
  [
    { for: 'receipt', hash: undefined },
    'It is in a sealed block, and no endpoint has shown its receipt yet.',
  ],
  [
    { for: 'receipt', hash: undefined, said },
    `It is in a sealed block, and no endpoint has shown its receipt yet; one ${WORDS}`,
  ],
  [{ for: 'finality', stage: 'safe' }, 'It is in a sealed block that is not safe yet.'],
  [
    { for: 'evidence', nonce: 7 },
    'Another transaction may have used its nonce 7: the blocks are being read.',
  ],
  [
    { for: 'evidence', nonce: undefined },
    'It is not known whether it executed: look it up, and call resolve().',
  ],
]

test.each(SENTENCES)('%o', (cause, sentence) => {
  expect(reasonOf(cause, 5)).toMatchObject({ ...cause, sinceMs: 5, sentence })
})

test('marks the causes that only an operator can end', () => {
  const operator = (cause: WaitCause) => reasonOf(cause, 0).operator
  expect(operator({ for: 'funds' })).toBe(true)
  expect(operator({ for: 'hold', holds: ['starved'] })).toBe(true)
  expect(operator({ for: 'hold', holds: ['seeding'] })).toBe(false)
  expect(operator({ for: 'evidence', nonce: undefined })).toBe(true)
  expect(operator({ for: 'evidence', nonce: 7 })).toBe(false)
  expect(operator({ for: 'nonce', nonce: 7 })).toBe(false)
})
