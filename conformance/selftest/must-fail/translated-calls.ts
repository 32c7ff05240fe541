// Must-fail gateways that translate a call wrongly. The client's request is changed before the gateway
// receives it, which has the same effect on the provider's request.

import {
  changeRequest,
  eachBlock,
  eachCallOf,
  eachResult,
  isMessages,
  isResponses,
  withoutMember,
} from '../dialect-hooks.ts'
import type { Json, MustFail } from '../gateway.ts'
import { toChat, toMessages } from '../translated-hooks.ts'

/** Changes existing members. */
const set =
  (name: string, change: (value: unknown) => unknown) =>
  (json: Json): Json =>
    json[name] === undefined ? json : { ...json, [name]: change(json[name]) }

/** Changes the schemas of tools in Messages or Responses calls. */
const eachSchema = (change: (schema: Json) => object) => (json: Json) =>
  set('tools', (tools) =>
    (tools as Json[]).map((tool) => ({
      ...tool,
      ...(tool.input_schema && { input_schema: change(tool.input_schema) }),
      ...(tool.parameters && { parameters: change(tool.parameters) }),
    })),
  )(json)

/** Changes the items of an input that is a list. */
const eachItem = (change: (item: Json) => object | null) => (json: Json) =>
  Array.isArray(json.input)
    ? { ...json, input: json.input.map(change).filter((item: unknown) => item !== null) }
    : json

const ofMessages = (change: (body: Json) => object) => changeRequest(toChat(isMessages), change)
const ofResponses = (change: (body: Json) => object) => changeRequest(toChat(isResponses), change)
const ofChat = (change: (body: Json) => object) => changeRequest(toMessages, change)

/** Gives each selected item of a list the value of the next selected item. */
function turned<T>(list: readonly T[], get: (each: T) => unknown, put: (each: T, value: unknown) => T): T[] {
  const values = list.map(get).filter((value) => value !== undefined)
  let at = 1
  return list.map((each) => (get(each) === undefined ? each : put(each, values[at++ % values.length])))
}

export const mustFail = {
  'first-instruction-only': {
    what: 'Only the first part of a translated Messages call’s system prompt reaches the provider.',
    caughtBy: ['DIAL-13@messages/instructions-arrive'],
    hooks: ofMessages(set('system', (system) => (Array.isArray(system) ? system.slice(0, 1) : system))),
  },
  'any-becomes-auto': {
    what: 'The tool choice `any` in a translated Messages call becomes `auto`.',
    caughtBy: ['DIAL-13@messages/choice-arrives'],
    hooks: ofMessages(
      set('tool_choice', (choice) => ((choice as Json).type === 'any' ? { type: 'auto' } : choice)),
    ),
  },
  'this-tool-becomes-any': {
    what: 'If a translated Messages call forces one tool, the provider receives a choice of any tool.',
    caughtBy: ['DIAL-13@messages/choice-arrives'],
    hooks: ofMessages(
      set('tool_choice', (choice) => ((choice as Json).type === 'tool' ? { type: 'any' } : choice)),
    ),
  },
  'none-becomes-auto': {
    what: 'The tool choice `none` in a translated Messages call is left out, so the model may call tools.',
    caughtBy: ['DIAL-13@messages/choice-arrives'],
    hooks: ofMessages((json) =>
      json.tool_choice?.type === 'none' ? withoutMember(json, 'tool_choice') : json,
    ),
  },
  'one-call-becomes-many': {
    what: 'A translated Messages call reaches the provider without its limit to one tool call at a time.',
    caughtBy: ['DIAL-13@messages/choice-arrives'],
    hooks: ofMessages(
      set('tool_choice', (choice) => withoutMember(choice as Json, 'disable_parallel_tool_use')),
    ),
  },
  'first-stop-sequence-only': {
    what: 'Only the first stop sequence in a translated Messages call reaches the provider.',
    caughtBy: ['DIAL-13@messages/settings-arrive'],
    hooks: ofMessages(set('stop_sequences', (list) => (list as string[]).slice(0, 1))),
  },
  'translation-drops-top-p': {
    what: 'The field top_p in a translated Messages call does not reach the provider.',
    caughtBy: ['DIAL-13@messages/settings-arrive'],
    hooks: ofMessages((json) => withoutMember(json, 'top_p')),
  },
  'results-change-places': {
    what: 'The results of two tool calls in a translated Messages call are swapped.',
    caughtBy: ['DIAL-13@messages/results-arrive'],
    hooks: ofMessages(
      set('messages', (messages) =>
        (messages as Json[]).map((each) =>
          Array.isArray(each.content)
            ? {
                ...each,
                content: turned<Json>(
                  each.content,
                  (block) => block.tool_use_id,
                  (block, tool_use_id) => ({ ...block, tool_use_id }),
                ),
              }
            : each,
        ),
      ),
    ),
  },
  'results-have-one-part': {
    what: 'Only the first part of a tool result in a translated Messages call reaches the provider.',
    caughtBy: ['DIAL-13@messages/results-arrive'],
    hooks: ofMessages((json) =>
      eachResult(json, (result) => ({
        ...result,
        content: Array.isArray(result.content) ? result.content.slice(0, 1) : result.content,
      })),
    ),
  },
  'tools-have-no-description': {
    what: 'The tools in a translated Messages call reach the provider without their descriptions.',
    caughtBy: ['DIAL-13@messages/tools-arrive'],
    hooks: ofMessages(
      set('tools', (tools) => (tools as Json[]).map((tool) => withoutMember(tool, 'description'))),
    ),
  },
  'nothing-is-required': {
    what: 'The tool schemas in a translated Messages call reach the provider without their required members.',
    caughtBy: ['DIAL-13@messages/tools-arrive'],
    hooks: ofMessages(eachSchema((schema) => withoutMember(schema, 'required'))),
  },
  'last-tool-is-lost': {
    what: 'If a translated Messages call has several tools, the last does not reach the provider.',
    caughtBy: ['DIAL-13@messages/tools-arrive'],
    hooks: ofMessages(
      set('tools', (tools) => ((tools as Json[]).length > 1 ? (tools as Json[]).slice(0, -1) : tools)),
    ),
  },
  'images-by-address-only': {
    what: 'An image in base64 in a translated Messages call does not reach the provider.',
    caughtBy: ['DIAL-13@messages/images-arrive'],
    hooks: ofMessages((json) =>
      eachBlock('image')(json, (block) =>
        block.source?.type === 'base64' ? { type: 'text', text: '[image]' } : block,
      ),
    ),
  },
  'inputs-of-the-history-are-empty': {
    what: 'Earlier tool calls in a translated Messages call reach the provider without their input.',
    caughtBy: ['DIAL-13@messages/results-arrive'],
    hooks: ofMessages((json) => eachCallOf(json, (call) => ({ ...call, input: {} }))),
  },
  'words-beside-calls-are-lost': {
    what: 'A translated Messages call loses the texts in earlier assistant turns that contain tool calls.',
    caughtBy: ['DIAL-13@messages/results-arrive'],
    hooks: ofMessages(
      set('messages', (messages) =>
        (messages as Json[]).map((each) =>
          Array.isArray(each.content) && each.content.some(({ type }: Json) => type === 'tool_use')
            ? { ...each, content: each.content.filter(({ type }: Json) => type !== 'text') }
            : each,
        ),
      ),
    ),
  },
  'everyone-is-the-user': {
    what: 'Earlier assistant texts become user texts in a translated Messages call.',
    caughtBy: ['DIAL-13@messages/turns-arrive'],
    hooks: ofMessages(
      set('messages', (messages) =>
        (messages as Json[]).map((each) =>
          each.role === 'assistant' && typeof each.content === 'string' ? { ...each, role: 'user' } : each,
        ),
      ),
    ),
  },
  'first-part-of-a-turn-only': {
    what: 'If a turn in a translated Messages call has several texts, only the first reaches the provider.',
    caughtBy: ['DIAL-13@messages/turns-arrive'],
    hooks: ofMessages(
      set('messages', (messages) =>
        (messages as Json[]).map((each) => {
          if (!Array.isArray(each.content)) return each
          const first = each.content.findIndex(({ type }: Json) => type === 'text')
          const rest = each.content.filter(
            ({ type }: Json, index: number) => type !== 'text' || index === first,
          )
          return { ...each, content: rest }
        }),
      ),
    ),
  },
  'developers-are-not-heard': {
    what: 'Developer messages in a translated Responses call do not reach the provider.',
    caughtBy: ['DIAL-13@responses/instructions-arrive'],
    hooks: ofResponses(eachItem((item) => (item.role === 'developer' ? null : item))),
  },
  'outputs-change-places': {
    what: 'The outputs of two tool calls in a translated Responses call are swapped.',
    caughtBy: ['DIAL-13@responses/results-arrive'],
    hooks: ofResponses((json) =>
      Array.isArray(json.input)
        ? {
            ...json,
            input: turned<Json>(
              json.input,
              (item) => (item.type === 'function_call_output' ? item.output : undefined),
              (item, output) => ({ ...item, output }),
            ),
          }
        : json,
    ),
  },
  'output-has-no-limit': {
    what: 'The field max_output_tokens in a translated Responses call does not reach the provider.',
    caughtBy: ['DIAL-13@responses/settings-arrive'],
    hooks: ofResponses((json) => withoutMember(json, 'max_output_tokens')),
  },
  'schema-becomes-any-json': {
    what: 'A translated request for JSON with a schema becomes a request for any JSON.',
    caughtBy: ['DIAL-13@responses/format-arrives'],
    hooks: ofResponses(
      set('text', (text) =>
        (text as Json).format?.type === 'json_schema'
          ? { ...(text as Json), format: { type: 'json_object' } }
          : text,
      ),
    ),
  },
  'required-becomes-auto': {
    what: 'The tool choice `required` in a translated Responses call becomes `auto`.',
    caughtBy: ['DIAL-13@responses/choice-arrives'],
    hooks: ofResponses(set('tool_choice', (choice) => (choice === 'required' ? 'auto' : choice))),
  },
  'this-function-becomes-any': {
    what: 'If a translated Responses call forces one function, the tool choice becomes `required`.',
    caughtBy: ['DIAL-13@responses/choice-arrives'],
    hooks: ofResponses(set('tool_choice', (choice) => (typeof choice === 'object' ? 'required' : choice))),
  },
  'one-function-becomes-many': {
    what: 'The field parallel_tool_calls in a translated Responses call does not reach the provider.',
    caughtBy: ['DIAL-13@responses/choice-arrives'],
    hooks: ofResponses((json) => withoutMember(json, 'parallel_tool_calls')),
  },
  'input-images-are-lost': {
    what: 'An image in the input of a translated Responses call does not reach the provider.',
    caughtBy: ['DIAL-13@responses/images-arrive'],
    hooks: ofResponses(
      eachItem((item) =>
        Array.isArray(item.content)
          ? { ...item, content: item.content.filter(({ type }: Json) => type !== 'input_image') }
          : item,
      ),
    ),
  },
  'arguments-of-the-history-are-empty': {
    what: 'Earlier tool calls in a translated Responses call reach the provider without their arguments.',
    caughtBy: ['DIAL-13@responses/results-arrive'],
    hooks: ofResponses(
      eachItem((item) => (item.type === 'function_call' ? { ...item, arguments: '{}' } : item)),
    ),
  },
  'outputs-are-lost': {
    what: 'Tool outputs in a translated Responses call reach the provider empty.',
    caughtBy: ['DIAL-13@responses/results-arrive'],
    hooks: ofResponses(
      eachItem((item) => (item.type === 'function_call_output' ? { ...item, output: '' } : item)),
    ),
  },
  'text-as-input-is-lost': {
    what: 'The text input in a translated Responses call reaches the provider empty.',
    caughtBy: ['DIAL-13@responses/turns-arrive'],
    hooks: ofResponses(set('input', (input) => (typeof input === 'string' ? '' : input))),
  },
  'answers-of-the-history-are-lost': {
    what: 'Earlier answers in the input of a translated Responses call do not reach the provider.',
    caughtBy: ['DIAL-13@responses/turns-arrive'],
    hooks: ofResponses(eachItem((item) => (item.role === 'assistant' ? null : item))),
  },
  'schemas-lose-their-depth': {
    what: 'Nested tool schemas in a translated Responses call reach the provider empty.',
    caughtBy: ['DIAL-13@responses/tools-arrive'],
    hooks: ofResponses(
      eachSchema((schema) => ({
        ...schema,
        properties: Object.fromEntries(
          Object.entries((schema.properties ?? {}) as Json).map(([name, { type }]) => [name, { type }]),
        ),
      })),
    ),
  },
  'chat-must-becomes-may': {
    what: 'The tool choice `required` in a chat call to a Messages provider becomes `auto`.',
    caughtBy: ['DIAL-13/choice-arrives'],
    hooks: ofChat(set('tool_choice', (choice) => (choice === 'required' ? 'auto' : choice))),
  },
  'first-system-of-chat-only': {
    what: 'If a chat call has several system messages, only the first reaches a Messages provider.',
    caughtBy: ['DIAL-13/instructions-arrive'],
    hooks: ofChat(
      set('messages', (messages) =>
        (messages as Json[]).filter(
          ({ role }, index, all) =>
            !['system', 'developer'].includes(role) ||
            all.findIndex((each) => ['system', 'developer'].includes(each.role)) === index,
        ),
      ),
    ),
  },
  'developers-of-chat-are-not-heard': {
    what: 'The developer message in a chat call does not reach a Messages provider.',
    caughtBy: ['DIAL-13/instructions-arrive'],
    hooks: ofChat(
      set('messages', (messages) => (messages as Json[]).filter(({ role }) => role !== 'developer')),
    ),
  },
  'newer-limit-is-not-known': {
    what: 'The field max_completion_tokens in a chat call does not reach a Messages provider.',
    caughtBy: ['DIAL-13/settings-arrive'],
    hooks: ofChat((json) => withoutMember(json, 'max_completion_tokens')),
  },
  'images-of-chat-are-lost': {
    what: 'An image in a chat call does not reach a Messages provider.',
    caughtBy: ['DIAL-13/images-arrive'],
    hooks: ofChat(
      set('messages', (messages) =>
        (messages as Json[]).map((each) =>
          Array.isArray(each.content)
            ? { ...each, content: each.content.filter(({ type }: Json) => type !== 'image_url') }
            : each,
        ),
      ),
    ),
  },
  'format-of-chat-is-lost': {
    what: 'The answer schema in a chat call does not reach a Messages provider.',
    caughtBy: ['DIAL-13/format-arrives'],
    hooks: ofChat((json) => withoutMember(json, 'response_format')),
  },
  'second-result-of-chat-is-lost': {
    what: 'If a chat call has several tool results, only the first reaches a Messages provider.',
    caughtBy: ['DIAL-13/results-arrive'],
    hooks: ofChat(
      set('messages', (messages) =>
        (messages as Json[]).filter(
          ({ role }, index, all) =>
            role !== 'tool' || all.findIndex((each) => each.role === 'tool') === index,
        ),
      ),
    ),
  },
} satisfies Record<string, MustFail>
