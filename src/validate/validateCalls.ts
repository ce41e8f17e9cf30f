import type { Hash } from 'viem'
import { checkNames } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { listPlace } from '../store/page.js'
import type { ListOptions, SequenceOptions } from '../types/index.js'
import { LIST_OPTIONS } from './names.js'
import { ORDER } from './stageOrder.js'
import { address, checkGroup, checkSendOptions, object, oneOf, whole } from './validate.js'

const STAGES: readonly unknown[] = [...ORDER, 'failed', 'cancelled', 'superseded']
const LIMIT_MAX = 10_000

// A date must name its time zone: without one it means another time on each machine.
const ISO_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

export function checkList(options: ListOptions): void {
  const { stage, group, account, createdAfter, createdBefore, limit, cursor } = object('options', options)
  checkNames('options', options, LIST_OPTIONS)
  oneOf('stage', stage, STAGES)
  checkGroup('group', group)
  if (account !== undefined && account !== 'any') address('account', account)
  checkTime('createdAfter', createdAfter)
  checkTime('createdBefore', createdBefore)
  whole('limit', limit, 1, LIMIT_MAX)
  if (cursor === undefined) return
  if (typeof cursor !== 'string') throw invalid('cursor', cursor, 'what an earlier page gave back')
  listPlace(cursor)
}

function checkTime(argument: string, time: unknown): void {
  if (time === undefined) return
  const isTime = time instanceof Date || (typeof time === 'string' && ISO_TIME.test(time))
  if (!isTime || Number.isNaN(new Date(time).getTime()))
    throw invalid(argument, time, 'a Date, or a time as ISO 8601, such as the createdAt of a record')
}

// The length of an id leaves room for the number that a sequence appends.
const ID_LENGTH_MAX = 240
const ITSELF = ['deploys', 'effect', 'timeoutMs'] as const

/** @throws `INVALID` for a sequence that no lane could send in order */
export function checkSequence(requests: unknown, options: SequenceOptions): void {
  if (!Array.isArray(requests)) throw invalid('requests', requests, 'an array of requests')
  checkSendOptions(options)
  const fields = object('options', options)
  for (const name of ITSELF) {
    if (fields[name] !== undefined)
      throw invalid(
        `options.${name}`,
        fields[name],
        'nothing: it is said of one transaction, sent with send()',
      )
  }
  if (options.id !== undefined && options.id.length > ID_LENGTH_MAX)
    throw invalid('options.id', options.id, `a string of 1 to ${ID_LENGTH_MAX} characters`)
}

/** Checks an id, or the hash of an attempt. */
export function checkKey(by: unknown): void {
  if (typeof by === 'string') return
  checkHash('hash', object('id', by).hash)
}

function checkHash(argument: string, hash: unknown): void {
  if (typeof hash !== 'string' || !/^0x[0-9a-f]{64}$/i.test(hash))
    throw invalid(argument, hash, 'a transaction hash')
}

export function checkSeen(seen: unknown): asserts seen is { hashes: readonly Hash[]; blockNumber: bigint } {
  const { hashes, blockNumber } = object('seen', seen)
  if (!Array.isArray(hashes)) throw invalid('hashes', hashes, 'an array of transaction hashes')
  for (const [index, hash] of hashes.entries()) checkHash(`hashes[${index}]`, hash)
  if (typeof blockNumber !== 'bigint' || blockNumber < 0n)
    throw invalid('blockNumber', blockNumber, 'a block number, or 0n')
}

export function checkResolve(id: unknown, fate: unknown): void {
  if (typeof id !== 'string') throw invalid('id', id, 'the id of an unresolved transaction')
  oneOf('fate', fate, ['executed', 'notExecuted'])
  if (fate === undefined) throw invalid('fate', fate, "'executed' or 'notExecuted'")
}
