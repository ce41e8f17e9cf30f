import { describe, expect, test } from 'vitest'
import { CLOSED, HEADER, itemsOf, reported, textOf, well } from '../report.fixture.js'
import { buildModel } from './model.js'

const modelOf = async (...lines: Parameters<typeof textOf>[0]) =>
  buildModel(await itemsOf(textOf([HEADER, ...lines, CLOSED])))

describe('a transaction without an end has a reason', () => {
  const accepted = (nonce: number) => well(0, nonce).slice(0, 3)

  test.each<[string, Parameters<typeof textOf>[0], string, RegExp]>([
    [
      'it is stuck',
      [...accepted(1), reported(99, 'stuck', { id: 'tx-1', nonce: 1 })],
      'accepted',
      /^Blocks pass without it/,
    ],
    [
      'its fees are at the ceiling',
      [...accepted(1), reported(99, 'feeCeiling', { id: 'tx-1', nonce: 1 })],
      'accepted',
      /ceiling/,
    ],
    [
      'it is unknown what used its nonce',
      [...accepted(1), reported(99, 'unresolved', { id: 'tx-1', nonce: 1 })],
      'unresolved',
      /An operator has to decide/,
    ],
    [
      'it waits for money',
      [reported(0, 'queued', { id: 'a' }), reported(9, 'waiting', { id: 'a', waitingFor: 'funds' })],
      'queued',
      /^It waits for money on the account\.$/,
    ],
    [
      'its block left the chain',
      [...well(0, 1), reported(3_000, 'reorged', { id: 'tx-1', nonce: 1 })],
      'accepted',
      /^Its block left the chain/,
    ],
    [
      'its nonce was taken',
      [...accepted(1), reported(99, 'foreign', { id: 'tx-1', nonce: 1 })],
      'queued',
      /^Another transaction of the same key/,
    ],
    [
      'its lane is held',
      [
        reported(0, 'queued', { id: 'a' }),
        reported(9, 'held', { reason: 'jump', detail: 'latest counts 900' }),
      ],
      'queued',
      /jump: latest counts 900\.$/,
    ],
    [
      'a nonce below is empty',
      [...accepted(4), reported(9, 'gap', { nonce: 3 })],
      'accepted',
      /^The nonce 3 below it is empty\.$/,
    ],
    ['no block had it', accepted(1), 'accepted', /^An endpoint accepted it, and no block had it/],
    [
      'a hold of its lane is over',
      [
        reported(0, 'held', { reason: 'jump' }),
        reported(1, 'released', { reason: 'jump' }),
        reported(2, 'queued', { id: 'a' }),
      ],
      'queued',
      /^It is in the queue/,
    ],
  ])('%s', async (_, lines, stage, why) => {
    const { unfinished } = await modelOf(...lines)
    expect(unfinished).toMatchObject([{ stage, why: expect.stringMatching(why) }])
  })

  test('that names the transaction before it, by nonce', async () => {
    const { unfinished } = await modelOf(...accepted(5), ...accepted(4), ...well(0, 3))
    expect(unfinished.map(({ history, why }) => [history.id, why])).toEqual([
      ['tx-4', 'An endpoint accepted it, and no block had it by the end of the recording.'],
      ['tx-5', 'It waits for nonce 4, transaction tx-4.'],
    ])
  })

  test('also if an earlier run of its id failed', async () => {
    const { unfinished, summary } = await modelOf(reported(0, 'failed', { id: 'tx-1' }), ...accepted(1))
    expect(unfinished.map(({ history }) => history.id)).toEqual(['tx-1'])
    expect(summary.transactions).toMatchObject({ sent: 1, failed: 0, open: 1 })
  })

  test('unless it ended', async () => {
    const { unfinished } = await modelOf(...well(0, 1), reported(1, 'failed', { id: 'a' }))
    expect(unfinished).toEqual([])
  })
})
