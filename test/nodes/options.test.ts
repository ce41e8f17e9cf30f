import { describe, expect, test } from 'vitest'
import { NODE_NAMES } from './nodes/description.js'
import { parseOptions } from './options.js'

const parse = (...argv: string[]) => parseOptions(argv)

describe('the options', () => {
  test('default to every case on every node', () => {
    const options = { node: NODE_NAMES, only: [], require: false, get: false }
    expect(parse()).toEqual({ kind: 'run', options })
  })

  test('nodes and cases are chosen by name, and an unknown node is refused', () => {
    expect(parse('--node', 'geth', '--node', 'anvil')).toMatchObject({ options: { node: ['geth', 'anvil'] } })
    expect(parse('--only', 'burst', '--only', '4 keys')).toMatchObject({
      options: { only: ['burst', '4 keys'] },
    })
    expect(parse('--node', 'parity')).toMatchObject({ kind: 'bad' })
  })

  test('words that match no case are refused, because an empty run would pass', () => {
    expect(parse('--only', 'bursts')).toMatchObject({ kind: 'bad' })
    expect(parse('--only', 'burst', '--only', 'quick start')).toMatchObject({ kind: 'bad' })
  })
})
