import {
  BaseError,
  CallExecutionError,
  ContractFunctionExecutionError,
  ContractFunctionRevertedError,
  EstimateGasExecutionError,
  HttpRequestError,
  InternalRpcError,
  parseAbi,
  RpcRequestError,
  SocketClosedError,
  TimeoutError,
  TransactionExecutionError,
  WebSocketRequestError,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { TxlaneError } from '../../src/errors/base.js'
import { leaksOf } from '../support/leaks.js'
import { KEY, secretsOf, secretUrl } from './secrets.js'

const URL_KEY = secretUrl('https://rpc.example.com')
const RAW = `0x02f8${'5a'.repeat(110)}` as const
const account = privateKeyToAccount(KEY)
const abi = parseAbi(['function set(uint256)', 'error Refused(uint256)'])
const to = '0x00000000000000000000000000000000000000aa'

const requestBody = { method: 'eth_sendRawTransaction', params: [RAW] }
const httpError = () =>
  new HttpRequestError({
    body: requestBody,
    details: `connect failed: ${URL_KEY}`,
    headers: new Headers({ authorization: 'Bearer headerKey6' }),
    status: 401,
    url: URL_KEY,
    cause: new Error(`getaddrinfo for ${URL_KEY}`),
  })
const rpcRequestError = () =>
  new RpcRequestError({
    body: requestBody,
    error: { code: -32000, message: `denied for ${URL_KEY}` },
    url: URL_KEY,
  })
const revert = () =>
  new ContractFunctionRevertedError({
    abi,
    functionName: 'set',
    data: `0x${'00'.repeat(4)}`,
    message: `execution reverted at ${URL_KEY}`,
  })

/** Errors that a transport, a signer or a caller's own function may throw. */
const CAUSES: Readonly<Record<string, () => unknown>> = {
  HttpRequestError: httpError,
  RpcRequestError: rpcRequestError,
  TimeoutError: () => new TimeoutError({ body: requestBody, url: URL_KEY }),
  SocketClosedError: () => new SocketClosedError({ url: URL_KEY }),
  WebSocketRequestError: () =>
    new WebSocketRequestError({
      body: requestBody,
      url: URL_KEY,
      details: URL_KEY,
      cause: new Error(URL_KEY),
    }),
  InternalRpcError: () => new InternalRpcError(rpcRequestError()),
  CallExecutionError: () => new CallExecutionError(httpError(), { account, to }),
  EstimateGasExecutionError: () => new EstimateGasExecutionError(httpError(), { account, to }),
  TransactionExecutionError: () => new TransactionExecutionError(rpcRequestError(), { account, to }),
  ContractFunctionExecutionError: () =>
    new ContractFunctionExecutionError(revert(), {
      abi,
      functionName: 'set',
      args: [1n],
      contractAddress: to,
    }),
  'an error of fetch': () => new TypeError('fetch failed', { cause: new Error(`connect ${URL_KEY}`) }),
  'a DOMException': () => new DOMException(`aborted ${URL_KEY}`, 'AbortError'),
  'an AggregateError': () => new AggregateError([httpError(), new Error(URL_KEY)], `all of ${URL_KEY}`),
  'an error that is its own cause': () => {
    const error = new Error(URL_KEY)
    error.cause = error
    return error
  },
  'an error with the properties that axios attaches': () =>
    Object.assign(new Error('Request failed'), {
      config: { url: URL_KEY, headers: { Authorization: 'Bearer headerKey6' } },
      request: { path: '/v2/pathKey3?key=queryKey4' },
      response: { config: { baseURL: URL_KEY } },
    }),
  'an error with a URL object': () => Object.assign(new Error('no'), { endpoint: new URL(URL_KEY) }),
  'an error with a getter': () =>
    Object.defineProperty(new Error('no'), 'url', { get: () => URL_KEY, enumerable: true }),
  'a text': () => `cannot reach ${URL_KEY}`,
  'an object': () => ({ code: -32000, message: URL_KEY, data: { url: URL_KEY } }),
}

describe('no error carries a credential, regardless of its cause', () => {
  it.each(Object.entries(CAUSES))('%s', (_, make) => {
    const error = new TxlaneError(`The node at ${URL_KEY} failed.`, {
      code: 'REJECTED',
      fate: 'notExecuted',
      cause: make(),
      details: `said ${URL_KEY}`,
      metaMessages: [`URL: ${URL_KEY}`, `wss: ${secretUrl('wss://rpc.example.com')}`],
    })
    expect(secretsOf(error)).toEqual([])
    expect(error.message).toContain('https://rpc.example.com')
  })

  it.each(Object.entries(CAUSES))('%s, leaves the original error unchanged for its owner', (name, make) => {
    const cause = make()
    const before = secretsOf(cause).length
    void new TxlaneError('It failed.', { code: 'REJECTED', fate: 'notExecuted', cause })
    expect(secretsOf(cause)).toHaveLength(before)
    // Proves that the walk which the tests above rely on does find the secrets.
    if (name !== 'an error with the properties that axios attaches') expect(before).toBeGreaterThan(0)
  })

  it('keeps the properties that distinguish errors: class, name, status, code and revert data', () => {
    const wrap = (cause: unknown) =>
      new TxlaneError('It failed.', { code: 'REJECTED', fate: 'inFlight', cause })
    const walked = (error: TxlaneError, type: abstract new (...parameters: never[]) => Error) =>
      error.walk((one) => one instanceof type)
    const http401 = walked(wrap(CAUSES.TransactionExecutionError?.()), RpcRequestError)
    expect(http401).toMatchObject({ name: 'RpcRequestError', code: -32000 })
    expect(walked(wrap(httpError()), HttpRequestError)).toMatchObject({
      name: 'HttpRequestError',
      status: 401,
    })
    const reverted = walked(wrap(CAUSES.ContractFunctionExecutionError?.()), ContractFunctionRevertedError)
    expect(reverted).toMatchObject({ raw: '0x00000000' })
    expect(reverted).toBeInstanceOf(BaseError)
  })

  it('carries no signed bytes', () => {
    for (const make of [httpError, rpcRequestError]) {
      const error = new TxlaneError('It failed.', { code: 'REJECTED', fate: 'inFlight', cause: make() })
      expect(leaksOf(error, [RAW])).toEqual([])
    }
  })
})
