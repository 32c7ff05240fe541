// Style sheets are bundled beside the code; nothing of them is imported by name.
declare module '*.css'
