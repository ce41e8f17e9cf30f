/** The JSON body of a request. */
export type Call = { to: string; data?: string; value?: string; gas?: string; deadline?: string }

const whole = { type: 'string', pattern: '^[0-9]{1,78}$' }
const address = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' }

const call = {
  $id: 'Call',
  type: 'object',
  required: ['to'],
  additionalProperties: false,
  properties: {
    to: { ...address, description: 'The address that is called.' },
    data: { type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$', description: 'The calldata.' },
    value: { ...whole, description: 'Wei, as decimal digits. Missing: 0.' },
    gas: { ...whole, description: 'The gas limit, as decimal digits. Missing: it is estimated.' },
    deadline: {
      type: 'string',
      format: 'date-time',
      description: 'A transaction that is not signed by then is not sent, and ends as "failed".',
    },
  },
}

const transaction = {
  $id: 'Transaction',
  type: 'object',
  description: 'The record of a transaction. It has more fields than these: see docs/operating.md.',
  required: ['id', 'stage'],
  additionalProperties: true,
  properties: {
    id: { type: 'string', description: "The caller's name, a slash, and the idempotency key." },
    stage: {
      type: 'string',
      description:
        'queued, signed, accepted, preconfirmed, sealed, safe, finalized; failed, cancelled, superseded.',
    },
    status: { type: 'string', enum: ['success', 'reverted'], description: 'Status of the receipt.' },
    hash: { type: 'string' },
    nonce: { type: 'integer' },
    from: address,
    createdAt: { type: 'string', format: 'date-time' },
    error: {
      type: 'object',
      description: 'The reason why the transaction was not executed, or reverted.',
      additionalProperties: true,
      properties: { code: { type: 'string' }, fate: { type: 'string' }, message: { type: 'string' } },
    },
  },
}

const page = {
  $id: 'Page',
  type: 'object',
  required: ['items'],
  properties: {
    items: { type: 'array', items: { $ref: 'Transaction#' } },
    cursor: { type: 'string', description: 'Cursor of the next page; missing on the last page.' },
  },
}

const problem = {
  $id: 'Problem',
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'string', description: 'The error in one sentence.' },
    code: { type: 'string', description: 'A code of txlane: see docs/errors.md.' },
    fate: {
      type: 'string',
      enum: ['notExecuted', 'inFlight', 'executed'],
      description: 'Whether the transaction was executed.',
    },
    transaction: { $ref: 'Transaction#' },
  },
}

export const schemas = [call, transaction, page, problem]

const answer = (description: string, $ref: string) => ({ description, $ref })
const refusals = {
  400: answer('The request is invalid.', 'Problem#'),
  401: answer('No key, or a wrong one.', 'Problem#'),
  429: answer('Too many requests: try again after the time in "retry-after".', 'Problem#'),
}
const busy = {
  503: answer('Not accepted, or its acceptance is unknown: send it again with the same key.', 'Problem#'),
}
const unknown = { 404: answer('The caller has no transaction with this key.', 'Problem#') }
const key = { type: 'string', pattern: '^[\\w.:-]{1,128}$' }
const byKey = { type: 'object', properties: { key } }

export const send = {
  summary: 'Sends a transaction, once for each key.',
  headers: {
    type: 'object',
    required: ['idempotency-key'],
    properties: {
      'idempotency-key': { ...key, description: 'A repeated key and body mean the same transaction.' },
    },
  },
  querystring: {
    type: 'object',
    additionalProperties: false,
    properties: {
      again: {
        enum: ['true', 'false'],
        description: 'Starts a transaction again that ended without execution.',
      },
    },
  },
  body: { $ref: 'Call#' },
  response: {
    202: answer('The transaction is in the database: one of the running processes sends it.', 'Transaction#'),
    ...refusals,
    403: answer('The caller may not send this.', 'Problem#'),
    409: answer('The key has another body, or its transaction ended without execution.', 'Problem#'),
    413: answer('The body is too large.', 'Problem#'),
    ...busy,
  },
}

export const look = {
  summary: 'Returns the state of a transaction.',
  params: byKey,
  response: { 200: answer('Its record.', 'Transaction#'), ...refusals, ...unknown, ...busy },
}

export const cancel = {
  summary: 'Cancels a transaction if that is still possible.',
  params: byKey,
  response: {
    200: answer('The transaction has ended without execution.', 'Transaction#'),
    202: answer('The transaction is being cancelled. It may still be executed.', 'Transaction#'),
    409: answer('The transaction was executed.', 'Transaction#'),
    ...refusals,
    ...unknown,
    ...busy,
  },
}

export const list = {
  summary: "The caller's transactions, newest first.",
  querystring: {
    type: 'object',
    additionalProperties: false,
    properties: {
      cursor: { type: 'string', description: 'Cursor from the previous page.' },
      stage: { type: 'string' },
      limit: {
        type: 'string',
        pattern: '^([1-9][0-9]{0,2}|1000)$',
        description: 'Up to 1000; 100 if it is missing.',
      },
    },
  },
  response: { 200: answer('A page.', 'Page#'), ...refusals, ...busy },
}
