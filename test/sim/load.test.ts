import { expect, test } from 'vitest'
import { createLoadJudge } from './load.js'

const POLL = [{ method: 'eth_getBlockByNumber', params: ['latest', false] }]
const READ = [{ method: 'eth_getBlockByNumber', params: ['0x1', false] }]

test('more polls in any second than a process may make are a violation, and other reads are not', () => {
  const judge = createLoadJudge({ processes: 1 })
  for (let poll = 0; poll < 25; poll++) judge.asked('a', POLL, 900 + 5 * poll)
  for (let read = 0; read < 100; read++) judge.asked('a', READ, 900)
  for (let poll = 0; poll < 25; poll++) judge.asked('b', POLL, 900)
  expect(judge.violations()).toEqual([])
  judge.asked('a', POLL, 1_899)
  expect(judge.violations()).toMatchObject([
    { promise: 'load', text: expect.stringContaining('a was polled') },
  ])
})
