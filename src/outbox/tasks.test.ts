import { describe, expect, test } from 'vitest'
import { createTurns, NO_GROUP, type Turn, type Turns } from './tasks.js'

/** Adds `count` waiting deliveries of a group, each with its number. */
function waiting(turns: Turns<string>, group: string, count: number, isAgain = false): void {
  for (let index = 0; index < count; index++) {
    turns.join(group)
    turns.wait(`${group}${index}`, group, isAgain)
  }
}

/** All deliveries that may start now. */
function begun(turns: Turns<string>): Turn<string>[] {
  const all: Turn<string>[] = []
  for (let turn = turns.next(); turn !== undefined; turn = turns.next()) all.push(turn)
  return all
}

const items = (some: readonly Turn<string>[]) => some.map(({ item }) => item)

describe('groups take turns', () => {
  test('with one delivery each, however many the first of them has', () => {
    const turns = createTurns<string>(4)
    waiting(turns, 'a', 100)
    waiting(turns, 'b', 2)
    waiting(turns, 'c', 1)
    expect(items(begun(turns))).toEqual(['a0', 'b0', 'c0', 'a1'])
  })

  test('a group starts with two concurrent calls, and doubles them with each accepted call', () => {
    const turns = createTurns<string>(8)
    waiting(turns, 'a', 100)
    const [first, second] = begun(turns)
    first?.end(true)
    expect(begun(turns)).toHaveLength(3)
    second?.end(true)
    expect(begun(turns)).toHaveLength(5)
    expect(begun(turns)).toHaveLength(0)
  })

  test('deliveries without a group use all places at once, and keep them after failures', () => {
    const turns = createTurns<string>(8)
    waiting(turns, NO_GROUP, 100)
    const all = begun(turns)
    expect(all).toHaveLength(8)
    for (const { end } of all) end(false)
    expect(begun(turns)).toHaveLength(8)
  })
})

describe('failing groups', () => {
  test('have half of the places together, and the other groups the rest', () => {
    const turns = createTurns<string>(8)
    const silent = ['s', 't', 'u', 'v']
    for (const name of silent) waiting(turns, name, 100)
    for (const { end } of begun(turns)) end(false)
    // Their first failure is over, so they are known as failing from now on.
    const held = begun(turns)
    expect(held).toHaveLength(4)
    waiting(turns, 'good', 10)
    expect(items(begun(turns))).toEqual(['good0', 'good1'])
  })

  test('have two places each, one of them for retries', () => {
    const turns = createTurns<string>(16)
    waiting(turns, 'a', 100)
    for (const { end } of begun(turns)) end(true)
    for (const { end } of begun(turns)) end(false)
    for (const { end } of begun(turns)) end(false)
    waiting(turns, 'a', 5, true)
    expect(begun(turns)).toHaveLength(2)
    const only = createTurns<string>(16)
    waiting(only, 'b', 5, true)
    expect(begun(only)).toHaveLength(1)
  })

  test('recover fully after one accepted call', () => {
    const turns = createTurns<string>(2)
    waiting(turns, 'a', 10)
    for (const { end } of begun(turns)) end(false)
    const [one] = begun(turns)
    one?.end(true)
    expect(begun(turns)).toHaveLength(2)
  })
})

describe('a crowded group', () => {
  test('is one that fails, and has more members than there is room', () => {
    const turns = createTurns<string>(2)
    waiting(turns, 'a', 10)
    const [one, two] = begun(turns)
    one?.end(true)
    expect(turns.isCrowded('a', 5)).toBe(false)
    two?.end(false)
    expect([turns.isCrowded('a', 5), turns.isCrowded('a', 10), turns.isCrowded('b', 0)]).toEqual([
      true,
      false,
      false,
    ])
  })

  test('is no longer crowded once its members have left', () => {
    const turns = createTurns<string>(2)
    waiting(turns, 'a', 2)
    for (const { end } of begun(turns)) end(false)
    turns.leave('a')
    expect(turns.isCrowded('a', 0)).toBe(true)
    turns.leave('a')
    expect(turns.isCrowded('a', 0)).toBe(false)
  })
})
