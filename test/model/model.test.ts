import { describe, expect, test } from 'vitest'
import { built } from '../support/built.js'
import type { Found } from './search.js'
import type { Machine } from './shell.js'
import type { Scope } from './world.js'

const { createSystem, SCOPES, search, TABLE, transition } = await built<typeof import('./model.js')>(
  new URL('model.ts', import.meta.url),
)

const TIMEOUT_MS = 120_000

/** A row, and the event that selected it. */
const taken = new Set<string>()
const on = (row: number, event: string): string => `${row} ${event}`

const counting: Machine = (nonce, slot, event) => {
  const result = transition(nonce, slot, event)
  taken.add(on(result.row, event.type))
  return result
}

function searched(scope: Scope): Found {
  const found = search(createSystem(scope, counting))
  const { states, steps, depth } = found
  console.log(`${scope.name}: ${states} states, ${steps} steps, ${depth} deep`)
  return found
}

describe('the shipped ledger, in every world of a scope', () => {
  test.each(Object.entries(SCOPES))(
    '%s: P1 to P6 and P8 hold in every state, and each state ends once the world heals',
    (_, scope: Scope) => {
      const { violation, cut } = searched(scope)
      expect({ violation, cut }).toEqual({ violation: undefined, cut: false })
    },
    TIMEOUT_MS,
  )

  test('the scopes take every row, on each event that leads to it', () => {
    const rows = TABLE.flatMap(({ row, on: events }) => events.map((event) => on(row, event)))
    expect(rows.filter((row) => !taken.has(row))).toEqual([])
  })
})
