import { describe, expect, test } from 'vitest'
import { awsError } from './kms.fixture.js'
import { HttpFailure, isTransient, NoAnswer, retryAfterOf } from './service.js'

const withFields = (fields: object): Error => Object.assign(new Error('said'), fields)

/** Errors as the SDKs throw them. */
const PASSES: Readonly<Record<string, unknown>> = {
  'AWS: throttled': awsError('ThrottlingException', 'Rate exceeded'),
  'AWS: a quota': awsError('LimitExceededException', 'Limit exceeded'),
  'AWS: an error of its own': awsError('KMSInternalException', 'internal', 500),
  'AWS: a key that is not available': awsError('KeyUnavailableException', 'unavailable', 500),
  'AWS: a status alone': awsError('SomethingNew', 'no', 503),
  'AWS: called so by its SDK': withFields({ name: 'SomethingNew', $retryable: { throttling: true } }),
  'gRPC: RESOURCE_EXHAUSTED': withFields({ code: 8 }),
  'gRPC: UNAVAILABLE': withFields({ code: 14 }),
  'gRPC: DEADLINE_EXCEEDED': withFields({ code: 4 }),
  'Azure: 429': withFields({ name: 'RestError', statusCode: 429, code: 'Throttled' }),
  'Azure: 503': withFields({ name: 'RestError', statusCode: 503 }),
  'HTTP 429': new HttpFailure(429, '', undefined),
  'HTTP 500': new HttpFailure(500, '', undefined),
  'a connection that was reset': withFields({ code: 'ECONNRESET' }),
  'fetch: a connection that was refused': new TypeError('fetch failed', {
    cause: withFields({ code: 'ECONNREFUSED' }),
  }),
  'no answer': new NoAnswer(5_000),
}

const STAYS: Readonly<Record<string, unknown>> = {
  'AWS: disabled': awsError('DisabledException', 'arn is disabled'),
  'AWS: pending deletion': awsError('KMSInvalidStateException', 'arn is pending deletion'),
  'AWS: no permission': awsError('AccessDeniedException', 'not authorized'),
  'AWS: no such key': awsError('NotFoundException', 'Alias is not found', 400),
  'gRPC: PERMISSION_DENIED': withFields({ code: 7 }),
  'gRPC: FAILED_PRECONDITION': withFields({ code: 9 }),
  'Azure: 403': withFields({ name: 'RestError', statusCode: 403, code: 'Forbidden' }),
  'HTTP 404': new HttpFailure(404, '', undefined),
  'HTTP 302': new HttpFailure(302, '', undefined),
  'HTTP 501': new HttpFailure(501, '', undefined),
  'a bug': new TypeError('x is not a function'),
  'a text': 'no',
  nothing: undefined,
  null: null,
}

describe('an error of a service', () => {
  test.each(Object.entries(PASSES))('%s is transient', (_, error) => {
    expect(isTransient(error)).toBe(true)
  })
  test.each(Object.entries(STAYS))('%s is permanent', (_, error) => {
    expect(isTransient(error)).toBe(false)
  })
  test('with itself as its cause is read without an endless loop', () => {
    const error = new Error('no')
    error.cause = error
    expect(isTransient(error)).toBe(false)
  })
})

test('has the pause in the headers of each SDK', () => {
  expect(retryAfterOf(new HttpFailure(429, '', '7'))).toBe('7')
  expect(retryAfterOf(withFields({ response: { headers: new Headers({ 'Retry-After': '7' }) } }))).toBe('7')
  expect(retryAfterOf(withFields({ $response: { headers: { 'retry-after': '7' } } }))).toBe('7')
  for (const none of [
    undefined,
    'no',
    new Error('no'),
    withFields({ response: {} }),
    withFields({ response: { headers: {} } }),
  ])
    expect(retryAfterOf(none)).toBeUndefined()
})
