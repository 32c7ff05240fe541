// An object whose `type` says which fields it has, including kinds that are not spelt out here. Knows no provider.
import { z } from 'zod'

/**
 * Judges an object by the schema for its `type`; one of another type passes. `unnamed` is the type of an object that
 * names none. A discriminated union would refuse the other types, and a plain union would not say which field is to blame.
 */
export const byType = (kinds: Readonly<Record<string, z.ZodObject>>, unnamed?: string) =>
  z
    .looseObject({ type: unnamed === undefined ? z.string() : z.string().nullish() })
    .superRefine((value, context) => {
      const type = value.type ?? unnamed ?? ''
      const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
      for (const { path, message } of kind?.safeParse(value).error?.issues ?? [])
        context.addIssue({ code: 'custom', path: [...path], message })
    })
