"""The sample store as Python sees it: values by their keys, and JPEGs by their forms."""
