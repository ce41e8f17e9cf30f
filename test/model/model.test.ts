import { describe, expect, test } from 'vitest'
import { TABLE } from '../../src/ledger/table.js'
import { transition } from '../../src/ledger/transition.js'
import { BIG_SCOPES, SCOPES } from './scopes.js'
import { type Found, search } from './search.js'
import type { Machine } from './shell.js'
import type { Scope } from './world.js'

const TIMEOUT_MS = 120_000
const BIG_TIMEOUT_MS = 1_800_000

const taken = new Set<number>()

const counting: Machine = (nonce, slot, event) => {
  const result = transition(nonce, slot, event)
  taken.add(result.row)
  return result
}

function searched(scope: Scope): Found {
  const found = search(scope, counting)
  const { states, steps, depth } = found
  console.log(
    `${scope.name}: ${states} states, ${steps} steps, ${depth} deep${found.cut ? ', cut short' : ''}`,
  )
  return found
}

describe('the ledger that ships, in every world of a scope', () => {
  test.each(Object.entries(SCOPES))(
    '%s: P1, P2, P4 and P5 hold in every state, and each state ends once the world heals',
    (_, scope: Scope) => {
      const { violation, cut } = searched(scope)
      expect({ violation, cut }).toEqual({ violation: undefined, cut: false })
    },
    TIMEOUT_MS,
  )

  test('the scopes take every row but 3 (nothing to do) and 32 (a reorg deeper than lossDepth)', () => {
    expect(TABLE.map(({ row }) => row).filter((row) => !taken.has(row))).toEqual([3, 32])
  })
})

describe.runIf(process.env.TXLANE_MODEL === 'big')('the same, searched for long', () => {
  test.each(BIG_SCOPES.map((scope) => [scope.name, scope] as const))(
    '%s: P1, P2, P4 and P5 hold as far as was searched',
    (_, scope) => {
      expect(searched(scope).violation).toBeUndefined()
    },
    BIG_TIMEOUT_MS,
  )
})
